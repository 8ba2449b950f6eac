//! Each delegation lock, and the server, under shuttle, with more threads and rounds than loom can
//! handle.

use syncline::delegation::Server;
use syncline::wait::{Park, Spin};
use syncline_checkers::{Shuttle, randomly};

use crate::servers::{refused, served};

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

#[test]
fn served_to_four() {
    randomly(600, || served::<Server<u32, Spin, Shuttle>>(4, 4));
    randomly(600, || served::<Server<u32, Park, Shuttle>>(4, 4));
}

#[test]
fn refused_to_four() {
    randomly(600, || refused::<Server<u32, Park, Shuttle>>(4));
}
