//! Barriers, one-time initialization, and locks whose holder changes their mode, under checkers;
//! and mutants of these, which must be rejected.

mod barrier;
mod broken;
mod changing;
mod mutants;
mod once;

use syncline_checkers::{Executions, Loom, Shuttle, randomly};

const UP_TO: Executions = Executions(6_000);

/// The number of executions under each of shuttle's schedulers.
const DRAWN: usize = 300;
