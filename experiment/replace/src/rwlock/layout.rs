//! The fields of a reader-writer lock of the C library, and their use in a replaced one.
//!
//! ```text
//!   bytes   the C library's                a replaced one's
//!    0-23   its state                      the lock
//!   24-27   the writer, by the kernel's number    by ours
//!   28-31   whether processes share it     the same
//!   32-35   elision                        the same
//!   36-39   padding                        the generation of the process that the writer is in
//!   40-41   padding                        the number of its lock, under a policy
//!   48-51   whether it prefers writers     the same
//! ```

use core::sync::atomic::{AtomicU16, AtomicU32};

use crate::slot::Slot;

/// The C library's `pthread_rwlock_t`.
#[repr(C)]
pub struct Rwlock {
    pub room: Slot<3>,
    pub writer: AtomicU32,
    pub shared: AtomicU32,
    elision: AtomicU32,
    pub generation: AtomicU32,
    /// The number of its lock under a policy; 0 if it has none yet.
    pub choice: AtomicU16,
    unused: AtomicU16,
    padding: AtomicU32,
    pub preference: AtomicU32,
    more: AtomicU32,
}

const _: () = assert!(size_of::<Rwlock>() == size_of::<libc::pthread_rwlock_t>());
