//! Each delegation lock, and the server, under loom; the bounds are next to the cases.
//!
//! [`UP_TO`] covers all executions of CC-Synch and HQD except in one case. QD has up to 80,000
//! executions within the bounds on preemptions, which take half a minute per case. Raise the
//! constant to run all of them.
//!
//! Not detected here: a missing Release in `open`. This Release makes sure that a slot of QD's
//! queue is empty before the queue opens again. Without it, two writes of the slot are unordered in
//! C11. But loom then offers each read the value that the lock needs as well, so the lock works.

use syncline::delegation::Server;
use syncline::wait::{Park, Spin};
use syncline_checkers::{Executions, Loom};

use crate::servers::{refused, served};

const UP_TO: Executions = Executions(4_000);

macro_rules! lock {
    ($name:ident, $Lock:ident, $($feature:ident)*) => {
        mod $name {
            mod spin {
                type Lock = crate::small::$Lock<super::super::Spin, super::super::Loom>;
                claim! { any }
                $(claim! { $feature })*
            }
            mod park {
                type Lock = crate::small::$Lock<super::super::Park, super::super::Loom>;
                claim! { any }
                $(claim! { $feature })*
            }
        }
    };
}

macro_rules! tests {
    ($($name:ident: explore($preemptions:literal), $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            crate::loom::UP_TO.explore($preemptions, || crate::cases::$case::<Lock>($($argument),*));
        })*
    };
}

macro_rules! claim {
    (any) => {
        tests! {
            attached_by_two: explore(3), attached(2, 2);
            attached_by_three: explore(2), attached(3, 1);
            detached_by_two: explore(3), detached(2, 2);
            detached_by_three: explore(2), detached(3, 1);
            abandoned_by_one_of_two: explore(3), abandoned(2, 2);
            abandoned_by_one_of_three: explore(2), abandoned(3, 1);
            abandoned_by_all_of_two: explore(3), all_abandoned(2, 2);
            abandoned_by_all_of_three: explore(2), all_abandoned(3, 1);
            asked_by_one_of_two: explore(3), asked(2);
            asked_by_one_of_three: explore(2), asked(3);
        }
    };
    (ordered) => {
        tests! {
            ordered_of_two: explore(3), ordered(2);
            ordered_of_three: explore(2), ordered(3);
        }
    };
    (fifo) => {
        tests! {
            fifo_of_four: explore(2), fifo(4);
        }
    };
}

syncline::for_each_delegation!(lock);

#[test]
fn served_to_one() {
    UP_TO.explore(3, || served::<Server<u32, Spin, Loom>>(1, 3));
    UP_TO.explore(3, || served::<Server<u32, Park, Loom>>(1, 3));
}

#[test]
fn served_to_two() {
    UP_TO.explore(2, || served::<Server<u32, Spin, Loom>>(2, 1));
    UP_TO.explore(2, || served::<Server<u32, Park, Loom>>(2, 1));
}

#[test]
fn refused_to_one() {
    UP_TO.explore(3, || refused::<Server<u32, Spin, Loom>>(1));
    UP_TO.explore(3, || refused::<Server<u32, Park, Loom>>(1));
}

#[test]
fn refused_to_two() {
    UP_TO.explore(2, || refused::<Server<u32, Park, Loom>>(2));
}
