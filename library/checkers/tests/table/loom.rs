//! The tables under loom; the bounds are next to the cases.

use syncline::lock::{Mcs, Ttas};
use syncline::table::version::Version;
use syncline::table::{LockTable, TableClient};
use syncline::wait::{Park, Spin};
use syncline_checkers::{Bounds, Loom, model};

use crate::cases::{one_key, own_keys, whole};
use crate::served::served;

const EXECUTIONS: usize = 20_000;

/// Explores executions with up to `preemptions` preemptions, or with any number for `None`.
fn explore(preemptions: Option<usize>, case: impl Fn() + Send + Sync + 'static) {
    println!(
        "{:?}",
        model(Bounds { preemptions, executions: Some(EXECUTIONS), timed: false }, case)
    );
}

macro_rules! locks {
    ($($name:ident: $Lock:ty;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn own_keys_of_two() {
                explore(Some(3), || own_keys::<LockTable<u64, $Lock>>(2));
            }
            #[test]
            fn own_keys_of_three() {
                explore(Some(2), || own_keys::<LockTable<u64, $Lock>>(3));
            }
            #[test]
            fn one_key_of_two() {
                explore(Some(3), || one_key::<LockTable<u64, $Lock>>(2));
            }
            #[test]
            fn one_key_of_three() {
                explore(Some(2), || one_key::<LockTable<u64, $Lock>>(3));
            }
        })*
    };
}

locks! {
    ttas_spin: Ttas<Spin, Loom>;
    ttas_park: Ttas<Park, Loom>;
    mcs_spin: Mcs<Spin, Loom>;
}

#[test]
fn one_writer_and_a_reader() {
    explore(None, || whole::<Version<Loom>>(2));
}

#[test]
fn two_writers_and_a_reader() {
    explore(Some(3), || whole::<Version<Loom>>(3));
}

#[test]
fn served_to_one() {
    explore(Some(3), || served::<TableClient<u64, Spin, Loom>>(1, 1));
    explore(Some(3), || served::<TableClient<u64, Park, Loom>>(1, 1));
}

#[test]
fn served_to_two() {
    explore(Some(2), || served::<TableClient<u64, Park, Loom>>(1, 2));
}

#[test]
fn served_by_two() {
    explore(Some(2), || served::<TableClient<u64, Park, Loom>>(2, 1));
}
