//! Every lock of the catalogue, under checkers and under stress.

mod broken;
mod cases;
mod condvar;
mod exhaustive;
mod loom;
mod mutants;
mod shuttle;
mod stress;
