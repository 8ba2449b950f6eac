//! The growing tables under loom; the bounds are next to the cases.

use syncline::table::{Flat, HashTable};
use syncline_checkers::{Executions, Loom};

use super::{Kept, Own, Value};

const EXECUTIONS: Executions = Executions(3_000);

/// Two tests of each case: with entries in the buckets, and in nodes. Explores up to `$preemptions`
/// preemptions.
macro_rules! cases {
    ($($case:ident: $preemptions:literal;)*) => {
        $(mod $case {
            use super::*;

            #[test]
            fn flat() {
                let case = super::super::$case::<HashTable<u64, Value, Own, Flat, Loom>>;
                EXECUTIONS.explore($preemptions, case);
            }
            #[test]
            fn nodes() {
                let case = super::super::$case::<HashTable<u64, Value, Own, Kept<Loom>, Loom>>;
                EXECUTIONS.explore($preemptions, case);
            }
        })*
    };
}

cases! {
    beside_insert: 3;
    beside_exchange: 3;
    beside_change: 3;
    beside_fill: 2;
    beside_split: 2;
    beside_split_of_two: 2;
    two_split: 2;
    two_split_and_one_reads: 2;
    two_double: 2;
    beside_doubling: 2;
    writer_beside_doubling: 2;
    iterated_beside_split: 2;
    both_update: 3;
    both_put_in: 3;
}
