//! The functions before a lock is chosen: each chooses, and calls the chosen one.

use core::ffi::c_int;

use libc::{clockid_t, timespec};

use super::{Mutex, Ops};
use crate::choice::{MUTEXES, choose};

impl Ops {
    /// Those that choose.
    pub const FIRST: Ops =
        Ops { lock, try_lock, lock_until, unlock, destroy, is_ours, made, ..Ops::LEFT };
}

// SAFETY, of all blocks here: our caller's promise.

unsafe fn lock(mutex: *const Mutex) -> c_int {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().lock)(mutex) }
}

unsafe fn try_lock(mutex: *const Mutex) -> c_int {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().try_lock)(mutex) }
}

unsafe fn lock_until(mutex: *const Mutex, clock: clockid_t, time: *const timespec) -> c_int {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().lock_until)(mutex, clock, time) }
}

unsafe fn unlock(mutex: *const Mutex) -> c_int {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().unlock)(mutex) }
}

unsafe fn destroy(mutex: *const Mutex) -> c_int {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().destroy)(mutex) }
}

unsafe fn is_ours(mutex: *const Mutex) -> c_int {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().is_ours)(mutex) }
}

unsafe fn made(mutex: *const Mutex) {
    choose();
    // SAFETY: see above.
    unsafe { (MUTEXES.get().made)(mutex) }
}
