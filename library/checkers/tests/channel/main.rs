//! The channels, under checkers; and mutants of them.

mod broken;
mod cases;
mod loom;
mod mutants;
mod shuttle;
