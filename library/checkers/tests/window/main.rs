//! The locks of windows under checkers, and mutants of them. A part may have a queue lock of the
//! catalogue. The tests in `locks` check the queue locks; these tests check the words in front of
//! them.
//!
//! `SYNCLINE_WINDOW_SCHEDULES` sets the number of schedules that shuttle draws in each case, half
//! of them with each of its schedulers.

mod broken;
mod cases;
mod deaths;
mod mutants;

use std::env;

use syncline::lock::{FairRw, ReadersFirst, WritersFirst};
use syncline::wait::Spin;
use syncline::window::{BestEffort, Global};
use syncline_checkers::cases::{returning, sharing, together};
use syncline_checkers::{Executions, Loom, Shuttle, randomly};

use cases::{parts, whole};

const UP_TO: Executions = Executions(6_000);
/// The number of schedules that shuttle draws in a case.
const RANDOM: usize = 1_200;

/// The two forms of the lock without a queue, over the memory `M`: with back-off, and without.
type BackOff<M> = BestEffort<true, Spin, M>;
type NoBackOff<M> = BestEffort<false, Spin, M>;

/// The number of executions under each of shuttle's two schedulers: half of the schedules that the
/// environment variable requests, or half of `few` if it is not set.
fn each(few: usize) -> usize {
    let wanted = env::var("SYNCLINE_WINDOW_SCHEDULES").ok();
    wanted.map_or(few, |n| n.parse().expect("a number of schedules")).div_ceil(2)
}

#[test]
fn best_effort_under_loom() {
    UP_TO.explore(3, || sharing::<BackOff<Loom>>(1, 1, 2));
    UP_TO.explore(3, || sharing::<BackOff<Loom>>(1, 2, 1));
    UP_TO.explore(3, || sharing::<NoBackOff<Loom>>(2, 1, 1));
    UP_TO.explore(2, || returning::<NoBackOff<Loom>>(3));
    UP_TO.explore(2, together::<BackOff<Loom>>);
}

#[test]
fn best_effort_under_shuttle() {
    randomly(each(RANDOM), || sharing::<BackOff<Shuttle>>(2, 3, 3));
    randomly(each(RANDOM), || sharing::<NoBackOff<Shuttle>>(3, 2, 3));
}

#[test]
fn the_word_in_front_under_loom() {
    UP_TO.explore(3, || whole::<Global<Spin, Loom>>(1, 1, 2));
    UP_TO.explore(3, || whole::<Global<Spin, Loom>>(1, 2, 1));
}

#[test]
fn the_word_in_front_under_shuttle() {
    randomly(each(RANDOM), || whole::<Global<Spin, Shuttle>>(1, 4, 3));
}

#[test]
fn windows_under_loom() {
    UP_TO.explore(2, || parts::<BackOff<Loom>>(2, 1, 1));
    UP_TO.explore(2, || parts::<WritersFirst<Spin, Loom>>(2, 1, 1));
    UP_TO.explore(2, || parts::<ReadersFirst<Spin, Loom>>(2, 1, 1));
    UP_TO.explore(2, || parts::<FairRw<Spin, Loom>>(2, 1, 1));
}

#[test]
fn windows_under_shuttle() {
    randomly(each(RANDOM), || parts::<NoBackOff<Shuttle>>(3, 2, 3));
    randomly(each(RANDOM), || parts::<WritersFirst<Spin, Shuttle>>(3, 2, 3));
    randomly(each(RANDOM), || parts::<ReadersFirst<Spin, Shuttle>>(3, 2, 3));
    randomly(each(RANDOM), || parts::<FairRw<Spin, Shuttle>>(3, 2, 3));
}
