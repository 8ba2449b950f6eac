//! The numbers of this process and its parent.

use rustix::process::{getpid, getppid};

/// The process's number.
pub fn own_number() -> u32 {
    getpid().as_raw_nonzero().get() as u32
}

/// The number of the process's parent; 0 if the parent is in another namespace.
pub fn parents_number() -> u32 {
    getppid().map_or(0, |parent| parent.as_raw_nonzero().get() as u32)
}
