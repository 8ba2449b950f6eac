//! Every lock of the catalogue under checkers.

/// The locks that are checked.
macro_rules! locks {
    ($each:ident) => {
        syncline::for_each_lock!($each);
    };
}

mod condvar;
mod exhaustive;
mod loom;
mod shuttle;

use syncline_checkers::{Executions, Loom, Shuttle as Drawn, randomly};

/// The most executions of each case under loom.
const UP_TO: Executions = Executions(6_000);
