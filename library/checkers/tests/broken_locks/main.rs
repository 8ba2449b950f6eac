//! Locks that are broken on purpose, which the checkers must reject. They are a separate program,
//! since they take as long to compile as everything else.

mod broken;
mod condvar;
mod counted;
mod mutants;
