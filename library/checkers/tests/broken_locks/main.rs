//! Locks that are broken on purpose: the checkers must reject them. These tests are a separate
//! program, since they take as long to compile as all others together.

mod broken;
mod condvar;
mod counted;
mod mutants;
