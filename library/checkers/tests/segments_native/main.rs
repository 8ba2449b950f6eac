//! Every lock of the catalogue over two segments, on system threads: the cases of
//! `tests/locks/shuttle.rs`, each run a few times.

macro_rules! locks {
    ($each:ident) => {
        syncline::for_each_lock!($each);
    };
}

#[path = "../locks/shuttle.rs"]
mod cases;

use syncline::memory::Native;
use syncline_checkers::Segments;

type Drawn = Segments<Native>;

/// How often a case is run.
const TIMES: usize = 20;

/// Runs a case a few times. How the threads interleave is up to the machine.
fn randomly(_: usize, case: impl Fn()) {
    (0..TIMES).for_each(|_| case());
}
