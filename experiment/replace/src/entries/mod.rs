//! The functions that the program calls.
//!
//! Each calls the function of the chosen lock ([`choice`](crate::choice)). (A mutex or a
//! reader-writer lock is initialised by the C library's function before that.) Until a lock is
//! chosen, the function chooses one. If no lock is named, all objects are the C library's. The
//! functions for condition variables are in [`cond`](crate::cond).

mod c11;
mod fork;
mod mutex;
mod rwlock;
mod spin;
