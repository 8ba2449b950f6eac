//! The engines under shuttle, with more threads and rounds than loom can handle.

use syncline::stm::Shared;
use syncline::wait::{Park, Spin};
use syncline_checkers::{Shuttle, randomly};

use crate::cases::{Alone, Alternating, Begun, Serial, WithServers};
use crate::history::Time::Real;

/// The number of executions under each scheduler.
const EXECUTIONS: usize = 1000;

macro_rules! tests {
    ($($name:ident: $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            super::randomly(EXECUTIONS, || crate::cases::$case::<S>($($argument),*));
        })*
    };
}

macro_rules! engine {
    ($name:ident, $Setup:ty) => {
        mod $name {
            use super::*;
            type S = $Setup;
            tests! {
                counted: counted(4, 3);
                opaque: opaque(4);
                blind: blind(4);
                skewed: skewed();
                published: published();
                awaited: awaited(4);
                handed_over: handed_over();
                shared: shared(4);
                long_and_short: long_and_short(4, 8);
                recorded: recorded(3, 3, Real);
                recorded_from_four: recorded(4, 2, Real);
            }
        }
    };
}

engine!(spin, Alone<Shared<Spin, Shuttle, 2>>);
engine!(park, Alone<Shared<Park, Shuttle, 2>>);
engine!(turns, Alone<Shared<Park, Shuttle, 1>>);
engine!(serial, Begun<Shared<Park, Shuttle, 2, Serial>>);
engine!(alternating, Begun<Shared<Park, Shuttle, 2, Alternating>>);
engine!(served, WithServers<Spin, Shuttle, 1>);
engine!(served_by_two, WithServers<Park, Shuttle, 2>);

/// The engine whose transactions alternately run side by side and one after the other.
mod changing {
    use super::*;
    type S = Alone<Shared<Park, Shuttle, 2, Alternating>>;
    tests! {
        in_place: in_place(4, 0);
        in_place_again: in_place(4, 2);
        recorded: recorded(3, 3, Real);
    }
}

/// The clock of versions and the order of locks exist only in the engine for shared memory.
mod in_shared_memory {
    use super::*;
    type S = Alone<Shared<Park, Shuttle, 2>>;
    tests! {
        ahead: ahead(4);
        crossed: crossed(8);
    }
}
