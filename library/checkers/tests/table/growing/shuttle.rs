//! The growing tables under shuttle: the cases, and histories.

use syncline::table::{Flat, HashTable};
use syncline_checkers::{Shuttle, randomly};

use super::{Kept, Own, Value, recorded};

const EXECUTIONS: usize = 600;

type FlatTable = HashTable<u64, Value, Own, Flat, Shuttle>;
type Nodes = HashTable<u64, Value, Own, Kept<Shuttle>, Shuttle>;

#[test]
fn histories_are_explained() {
    randomly(EXECUTIONS, recorded::<FlatTable>);
    randomly(EXECUTIONS, recorded::<Nodes>);
}

macro_rules! cases {
    ($($case:ident)*) => {
        $(#[test]
        fn $case() {
            randomly(EXECUTIONS, super::$case::<FlatTable>);
            randomly(EXECUTIONS, super::$case::<Nodes>);
        })*
    };
}

cases! {
    beside_insert
    beside_exchange
    beside_change
    beside_fill
    beside_split
    beside_split_of_two
    two_split
    two_split_and_one_reads
    two_double
    beside_doubling
    writer_beside_doubling
    iterated_beside_split
    both_update
    both_put_in
}
