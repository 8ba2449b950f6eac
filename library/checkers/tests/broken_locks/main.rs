//! Locks that are broken on purpose, which the checkers must reject. A program of its own, as it
//! takes as long to compile as all that is right.

mod broken;
mod condvar;
mod counted;
mod mutants;
