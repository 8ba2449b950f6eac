//! The condition variable, with a queue lock and with the default lock, under both checkers.

use syncline::Condvar;
use syncline::lock::{GatedClh, Mcs};
use syncline::wait::Park;
use syncline_checkers::cases::condvar::{all, one, passed_on, until};
use syncline_checkers::{Executions, Loom, Shuttle, randomly};

const UP_TO: Executions = Executions(6_000);

macro_rules! tests {
    ($($name:ident: $Lock:ident;)*) => {
        mod loom {
            use super::{Condvar, Loom, Park};
            $(mod $name {
                type Lock = syncline::lock::$Lock<super::Park, super::Loom>;
                type Condvar = super::Condvar<super::Loom>;
                #[test]
                fn notify_one() {
                    super::super::UP_TO.explore(3, || super::super::one::<Condvar, Lock>(1));
                    super::super::UP_TO.explore(3, || super::super::one::<Condvar, Lock>(2));
                }
                #[test]
                fn notify_all() {
                    super::super::UP_TO.explore(3, || super::super::all::<Condvar, Lock>(2));
                }
                #[test]
                fn until() {
                    super::super::UP_TO.explore_timed(3, || super::super::until::<Condvar, Lock>());
                }
                #[test]
                fn passed_on() {
                    super::super::UP_TO
                        .explore_timed(3, || super::super::passed_on::<Condvar, Lock>());
                }
            })*
        }
        mod shuttle {
            $(#[test]
            fn $name() {
                type Lock = super::$Lock<super::Park, super::Shuttle>;
                type Condvar = super::Condvar<super::Shuttle>;
                super::randomly(150, || super::one::<Condvar, Lock>(4));
                super::randomly(150, || super::all::<Condvar, Lock>(4));
                super::randomly(150, || super::until::<Condvar, Lock>());
                super::randomly(150, || super::passed_on::<Condvar, Lock>());
            })*
        }
    };
}

tests! {
    mcs: Mcs;
    gate: GatedClh;
}
