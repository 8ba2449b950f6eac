//! Every lock of the catalogue, under checkers.

mod condvar;
mod exhaustive;
mod loom;
mod shuttle;
