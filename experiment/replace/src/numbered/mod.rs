//! Objects with different locks: each object stores the number of its lock, which selects the
//! functions for the object. An object without a number gets one from the
//! [`policy`](crate::policy).

pub mod mutex;
pub mod rwlock;
pub mod spin;
