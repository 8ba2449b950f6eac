//! Every lock of the catalogue, under checkers.

mod broken;
mod cases;
mod condvar;
mod exhaustive;
mod loom;
mod mutants;
mod shuttle;
