//! The channels under checkers, and mutants of them.

extern crate alloc;

mod broken;
mod cases;
mod loom;
mod many;
mod mutants;
mod shuttle;
mod tasks;
mod tasks_of_many;
