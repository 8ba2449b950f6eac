//! The barrier.

use syncline::Barrier;
use syncline_checkers::cases::barrier::{rounds, several};

use crate::{DRAWN, Loom, Shuttle, UP_TO, randomly};

#[test]
fn rounds_of_two() {
    UP_TO.explore(3, || rounds::<Loom, Barrier<Loom>>(2, 1));
}

#[test]
fn rounds_of_three() {
    UP_TO.explore(2, || rounds::<Loom, Barrier<Loom>>(3, 1));
}

#[test]
fn several_meetings() {
    UP_TO.explore(2, || several::<Loom, Barrier<Loom>>(2, 2));
}

#[test]
fn drawn() {
    randomly(DRAWN, || rounds::<Shuttle, Barrier<Shuttle>>(4, 3));
    randomly(DRAWN, || several::<Shuttle, Barrier<Shuttle>>(2, 3));
}
