//! The tables under shuttle, with more threads than loom can handle.

use syncline::lock::{Mcs, Ttas};
use syncline::table::version::Version;
use syncline::table::{LockTable, TableClient};
use syncline::wait::{Park, Spin};
use syncline_checkers::{Shuttle, randomly};

use crate::cases::{one_key, own_keys, whole};
use crate::served::served;

const EXECUTIONS: usize = 600;

#[test]
fn keys_of_five() {
    randomly(EXECUTIONS, || own_keys::<LockTable<u64, Ttas<Park, Shuttle>>>(5));
    randomly(EXECUTIONS, || own_keys::<LockTable<u64, Mcs<Spin, Shuttle>>>(5));
}

#[test]
fn one_key_of_five() {
    randomly(EXECUTIONS, || one_key::<LockTable<u64, Ttas<Park, Shuttle>>>(5));
    randomly(EXECUTIONS, || one_key::<LockTable<u64, Mcs<Spin, Shuttle>>>(5));
}

#[test]
fn four_writers_and_a_reader() {
    randomly(EXECUTIONS, || whole::<Version<Shuttle>>(5));
}

#[test]
fn served_to_three_by_two() {
    randomly(EXECUTIONS, || served::<TableClient<u64, Spin, Shuttle>>(2, 3));
    randomly(EXECUTIONS, || served::<TableClient<u64, Park, Shuttle>>(2, 3));
}
