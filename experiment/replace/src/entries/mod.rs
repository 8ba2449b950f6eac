//! The functions that the program calls.
//!
//! Each looks at nothing but goes on in the function of the lock that was chosen
//! ([`choice`](crate::choice)); until one is, that function chooses. Before the choice and without
//! one, all objects are the C library's. Those of condition variables are in [`cond`](crate::cond).

mod c11;
mod fork;
mod mutex;
mod rwlock;
mod spin;
