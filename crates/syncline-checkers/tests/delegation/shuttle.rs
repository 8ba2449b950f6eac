//! Each delegation lock under shuttle, with more threads and rounds than loom can take.

use syncline::wait::{Park, Spin};
use syncline_checkers::{Shuttle, randomly};

macro_rules! lock {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        mod $name {
            mod spin {
                type Lock = crate::small::$Lock<super::super::Spin, super::super::Shuttle>;
                tests! {}
            }
            mod park {
                type Lock = crate::small::$Lock<super::super::Park, super::super::Shuttle>;
                tests! {}
            }
        }
    };
}

macro_rules! tests {
    ($($name:ident: $case:ident($($argument:expr),*);)+) => {
        $(#[test]
        fn $name() {
            super::super::randomly(1000, || crate::cases::$case::<Lock>($($argument),*));
        })+
    };
    () => {
        tests! {
            attached: attached(5, 3);
            detached: detached(5, 3);
            abandoned: abandoned(5, 3);
            all_abandoned: all_abandoned(5, 3);
            asked: asked(5);
        }
    };
}

syncline::for_each_delegation!(lock);
