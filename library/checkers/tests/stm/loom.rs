//! The engines under loom; the bounds are next to the cases.

use syncline::stm::Shared;
use syncline::wait::{Park, Spin};
use syncline_checkers::{Bounds, Loom, model};

use crate::cases::{Alone, Alternating, Begun, Serial, WithServers};
use crate::history::Time::OwnThread;

/// Enough for all executions of most cases; the others print that they were cut short.
const EXECUTIONS: usize = 6_000;

/// Explores executions with up to `preemptions` preemptions.
fn explore(name: &str, preemptions: usize, case: impl Fn() + Send + Sync + 'static) {
    let executions = Some(EXECUTIONS);
    let bounds = Bounds { preemptions: Some(preemptions), executions, timed: false };
    let explored = model(bounds, case);
    let cut = if explored.complete { "" } else { " cut short" };
    println!("{name}: {}{cut}, {:?}", explored.executions, explored.time);
}

macro_rules! tests {
    ($($name:ident: explore($preemptions:literal), $case:ident($($argument:expr),*);)*) => {
        $(#[test]
        fn $name() {
            let name = concat!(module_path!(), "::", stringify!($name));
            super::explore(name, $preemptions, || crate::cases::$case::<S>($($argument),*));
        })*
    };
}

macro_rules! engine {
    ($name:ident, $Setup:ty) => {
        mod $name {
            use super::*;
            type S = $Setup;
            tests! {
                counted_by_two: explore(3), counted(2, 2);
                counted_by_three: explore(2), counted(3, 1);
                opaque_to_one: explore(3), opaque(2);
                opaque_to_two: explore(2), opaque(3);
                ahead_of_one: explore(4), ahead(2);
                ahead_of_two: explore(2), ahead(3);
                blind_with_two: explore(3), blind(2);
                blind_with_three: explore(2), blind(3);
                crossed: explore(3), crossed(1);
                crossed_twice: explore(2), crossed(2);
                skewed_by_two: explore(4), skewed();
                published_to_one: explore(4), published();
                awaited_from_one: explore(3), awaited(2);
                awaited_from_two: explore(2), awaited(3);
                handed_over_by_two: explore(3), handed_over();
                shared_by_two: explore(3), shared(2);
                shared_by_three: explore(2), shared(3);
                long_and_short_of_two: explore(3), long_and_short(2, 2);
                long_and_short_of_three: explore(2), long_and_short(3, 1);
                recorded_from_two: explore(3), recorded(2, 1, OwnThread);
                recorded_from_two_twice: explore(2), recorded(2, 2, OwnThread);
                recorded_from_three: explore(2), recorded(3, 1, OwnThread);
            }
        }
    };
}

engine!(spin, Alone<Shared<Spin, Loom, 2>>);
engine!(park, Alone<Shared<Park, Loom, 2>>);
// Here, a thread requests a turn after one failed attempt.
engine!(turns, Alone<Shared<Park, Loom, 1>>);

engine!(serial, Begun<Shared<Park, Loom, 2, Serial>>);

/// Cases of an engine whose transactions alternately run side by side and one after the other.
macro_rules! alternating {
    ($name:ident, $Setup:ty) => {
        mod $name {
            use super::*;
            type S = $Setup;
            tests! {
                counted_by_two: explore(3), counted(2, 2);
                counted_by_three: explore(2), counted(3, 1);
                opaque_to_one: explore(3), opaque(2);
                opaque_to_two: explore(2), opaque(3);
                in_place_before_one: explore(4), in_place(2, 0);
                in_place_before_two: explore(2), in_place(3, 0);
                in_place_again_before_one: explore(4), in_place(2, 2);
                ahead_of_one: explore(4), ahead(2);
                blind_with_three: explore(2), blind(3);
                skewed_by_two: explore(4), skewed();
                published_to_one: explore(4), published();
                awaited_from_one: explore(3), awaited(2);
                handed_over_by_two: explore(3), handed_over();
                shared_by_two: explore(3), shared(2);
                long_and_short_of_two: explore(3), long_and_short(2, 2);
                recorded_from_two: explore(3), recorded(2, 1, OwnThread);
                recorded_from_two_twice: explore(2), recorded(2, 2, OwnThread);
                recorded_from_three: explore(2), recorded(3, 1, OwnThread);
            }
        }
    };
}

alternating!(alternating, Alone<Shared<Spin, Loom, 2, Alternating>>);
alternating!(alternating_from_serial, Begun<Shared<Park, Loom, 2, Alternating>>);

/// The engine with a lock server, which has a thread of its own.
mod served {
    use super::*;
    type S = WithServers<Spin, Loom, 1>;
    tests! {
        counted_by_two: explore(2), counted(2, 1);
        opaque_to_one: explore(2), opaque(2);
        skewed_by_two: explore(2), skewed();
        published_to_one: explore(2), published();
        awaited_from_one: explore(2), awaited(2);
        shared_by_two: explore(2), shared(2);
        recorded_from_two: explore(2), recorded(2, 1, OwnThread);
    }
}
