//! Objects with different locks: each object notes the number of its lock, and its functions are
//! those of the lock with that number. An object that has none yet gets one by the
//! [`policy`](crate::policy).

pub mod mutex;
pub mod rwlock;
pub mod spin;
