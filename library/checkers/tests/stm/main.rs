//! The transactions' engines under checkers, and mutants of them, which must fail.

extern crate alloc;

mod broken;
mod cases;
mod history;
mod loom;
mod mutants;
mod native;
mod shuttle;
