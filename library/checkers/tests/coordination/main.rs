//! What threads meet at, do once, or share and then change, under checkers; and mutants of it,
//! which must be rejected.

mod barrier;
mod broken;
mod changing;
mod mutants;
mod once;

use syncline_checkers::{Executions, Loom, Shuttle, randomly};

const UP_TO: Executions = Executions(6_000);

/// Executions of each scheduler of shuttle's.
const DRAWN: usize = 300;
