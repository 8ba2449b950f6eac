//! One-time initialization.

use syncline::once::raw::{FRESH, POISONED, RawOnce};
use syncline_checkers::cases::once::{once, panicked, waited};

use crate::{DRAWN, Loom, Shuttle, UP_TO, randomly};

#[test]
fn it_happens_once() {
    UP_TO.explore(4, || once::<Loom, RawOnce<Loom>>(2));
    UP_TO.explore(3, || once::<Loom, RawOnce<Loom>>(3));
}

#[test]
fn it_is_waited_for() {
    UP_TO.explore(4, || waited::<Loom, RawOnce<Loom>>(2));
    UP_TO.explore(3, || waited::<Loom, RawOnce<Loom>>(3));
}

#[test]
fn it_is_tried_again() {
    UP_TO.explore(3, || panicked::<Loom, RawOnce<Loom>>(2, FRESH));
    UP_TO.explore(3, || panicked::<Loom, RawOnce<Loom>>(3, FRESH));
    UP_TO.explore(3, || panicked::<Loom, RawOnce<Loom>>(3, POISONED));
}

#[test]
fn drawn() {
    randomly(DRAWN, || once::<Shuttle, RawOnce<Shuttle>>(5));
    randomly(DRAWN, || waited::<Shuttle, RawOnce<Shuttle>>(5));
    randomly(DRAWN, || panicked::<Shuttle, RawOnce<Shuttle>>(5, FRESH));
    randomly(DRAWN, || panicked::<Shuttle, RawOnce<Shuttle>>(5, POISONED));
}
