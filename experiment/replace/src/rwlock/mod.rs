//! Reader-writer locks.
//!
//! Only locks whose acquisitions carry nothing are put in place of these, since a thread may share
//! many at once, and POSIX' objects have no room for a node of each reader. A writer notes itself
//! as the owner, as in the C library, which shows whether a release is a writer's.
//!
//! An object may require by its attributes that waiting writers keep new readers out. Of the locks
//! in question those can do that whose writers wait in the lock itself, also until a deadline;
//! where another was chosen, such an object gets [`CompactRw`](syncline::lock::CompactRw) in its
//! stead.

mod ops;
mod until;

pub use ops::Ops;
pub use until::{Polled, Timed};

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU16, AtomicU32};

use libc::{clockid_t, timespec};

use crate::slot::Slot;

/// What the C library calls `pthread_rwlock_t`, and a replaced one's use of its fields.
///
/// ```text
///   bytes   the C library's                a replaced one's
///    0-23   its state                      the lock
///   24-27   the writer, by the kernel's number    by ours
///   28-31   whether processes share it     the same
///   32-35   elision                        the same
///   36-39   padding                        the generation of the process that the writer is in
///   40-41   padding                        the number of its lock, under a policy
///   48-51   whom it prefers                the same
/// ```
#[repr(C)]
pub struct Rwlock {
    room: Slot<3>,
    writer: AtomicU32,
    shared: AtomicU32,
    elision: AtomicU32,
    generation: AtomicU32,
    /// The number of its lock under a policy; 0 if it has none yet.
    pub choice: AtomicU16,
    unused: AtomicU16,
    padding: AtomicU32,
    preference: AtomicU32,
    more: AtomicU32,
}

const _: () = assert!(size_of::<Rwlock>() == size_of::<libc::pthread_rwlock_t>());

/// The C library's own.
pub mod real {
    use super::*;

    syncline_interpose::real! {
        fn pthread_rwlock_init(lock: *const Rwlock, attributes: *const c_void) -> c_int;
        fn pthread_rwlock_destroy(lock: *const Rwlock) -> c_int;
        fn pthread_rwlock_rdlock(lock: *const Rwlock) -> c_int;
        fn pthread_rwlock_tryrdlock(lock: *const Rwlock) -> c_int;
        fn pthread_rwlock_clockrdlock(lock: *const Rwlock, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_wrlock(lock: *const Rwlock) -> c_int;
        fn pthread_rwlock_trywrlock(lock: *const Rwlock) -> c_int;
        fn pthread_rwlock_clockwrlock(lock: *const Rwlock, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_unlock(lock: *const Rwlock) -> c_int;
    }
}
