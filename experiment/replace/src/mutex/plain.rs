//! The fast path for normal mutexes, which nearly all calls take.
//!
//! [`general`](super::general) handles all other cases: another kind, a lock that has yet to be
//! made, a holder from before a fork, or a release without a holder.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use libc::PTHREAD_MUTEX_NORMAL;
use syncline::lock::TryLock;

use super::general;
use super::layout::Mutex;
use crate::generation;
use crate::memory::Own;
use crate::slot::Slot;

/// Acquires a mutex.
///
/// # Safety
///
/// Same requirements as POSIX' function.
#[inline(always)]
pub unsafe fn lock<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise; the node stays until the release.
    unsafe {
        let shown = &*mutex;
        if shown.raw_kind() != PTHREAD_MUTEX_NORMAL || generation::is_past(&shown.generation) {
            return general::lock::<L>(mutex);
        }
        let Some(lock) = shown.room.at_hand::<L>() else { return general::lock::<L>(mutex) };
        let node = Slot::<2>::node::<L>();
        lock.acquire(node);
        shown.room.hold::<L>(node);
        // Relaxed, as in `general`.
        shown.generation.store(generation::now(), Relaxed);
    }
    0
}

/// Releases a mutex.
///
/// # Safety
///
/// Same requirements as POSIX' function.
#[inline(always)]
pub unsafe fn unlock<L: TryLock<Memory = Own>>(mutex: *const Mutex) -> c_int {
    // SAFETY: our caller's promise.
    unsafe {
        let shown = &*mutex;
        let held_now = shown.generation.load(Relaxed) == generation::now();
        if shown.raw_kind() != PTHREAD_MUTEX_NORMAL || !held_now {
            return general::unlock::<L>(mutex);
        }
        let Some(lock) = shown.room.at_hand::<L>() else { return general::unlock::<L>(mutex) };
        shown.generation.store(0, Relaxed);
        let node = shown.room.held::<L>();
        lock.release(node);
        Slot::<2>::done::<L>(node);
    }
    0
}
