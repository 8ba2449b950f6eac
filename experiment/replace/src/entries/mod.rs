//! The functions that the program calls.
//!
//! Each only calls the function of the chosen lock ([`choice`](crate::choice)). Until a lock is
//! chosen, that function chooses one. Before the choice, and if no lock is named, all objects are
//! the C library's. The functions for condition variables are in [`cond`](crate::cond).

mod c11;
mod fork;
mod mutex;
mod rwlock;
mod spin;
