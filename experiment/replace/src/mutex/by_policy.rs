//! The functions under a policy: each mutex goes to those of the lock whose number it notes.

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;

use libc::{clockid_t, timespec};

use super::{Kind, Mutex, Ops};
use crate::policy::{LEFT, MUTEX, MUTEXES, Moment, decide};
use crate::report;

impl Ops {
    /// Those that look at the mutex's number; it is most often the one of these.
    pub const fn by_policy(first: &Ops) -> Ops {
        let (lock, unlock) = first.if_first;
        Ops {
            lock,
            try_lock,
            lock_until,
            unlock,
            destroy,
            is_ours,
            made,
            replaces: true,
            ..Ops::LEFT
        }
    }
}

// SAFETY, of all blocks here: our caller's promise.

/// The functions of a mutex that is about to be acquired.
#[inline(always)]
unsafe fn of(mutex: *const Mutex) -> &'static Ops {
    // SAFETY: see above.
    let mutex = unsafe { &*mutex };
    // Relaxed, as all here: any lock is free in a fresh object, so the number orders nothing.
    match mutex.choice.load(Relaxed) {
        0 => choose(mutex, Moment::Acquired),
        number => by(number),
    }
}

/// The functions of a mutex that has been acquired, if it was used at all.
#[inline(always)]
unsafe fn of_used(mutex: *const Mutex) -> &'static Ops {
    // SAFETY: see above.
    match unsafe { (*mutex).choice.load(Relaxed) } {
        0 => &Ops::LEFT,
        number => by(number),
    }
}

#[inline(always)]
fn by(number: u16) -> &'static Ops {
    MUTEXES[usize::from(number) % MUTEXES.len()].get()
}

/// Chooses, unless another thread is first. What can't be replaced may be in memory that processes
/// share, and notes nothing.
#[cold]
fn choose(mutex: &Mutex, moment: Moment) -> &'static Ops {
    if mutex.kind() == Kind::Left {
        if matches!(moment, Moment::Acquired) {
            report::left_to_libc(true);
        }
        return &Ops::LEFT;
    }
    let number = match decide(MUTEX, core::ptr::from_ref(mutex).addr(), moment) {
        0 => return &Ops::LEFT,
        number => number,
    };
    by(mutex
        .choice
        .compare_exchange(0, number, Relaxed, Relaxed)
        .map_or_else(|theirs| theirs, |_| number))
}

/// # Safety
/// As of POSIX' function.
pub unsafe fn lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above. Nearly all calls come with a number, and have nothing to keep meanwhile.
    unsafe {
        match (*mutex).choice.load(Relaxed) {
            0 => first_lock(mutex),
            number => (by(number).lock)(mutex),
        }
    }
}

#[cold]
unsafe fn first_lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of(mutex).lock)(mutex) }
}

unsafe fn try_lock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of(mutex).try_lock)(mutex) }
}

unsafe fn lock_until(mutex: *const Mutex, clock: clockid_t, time: *const timespec) -> c_int {
    // SAFETY: see above.
    unsafe { (of(mutex).lock_until)(mutex, clock, time) }
}

/// # Safety
/// As of POSIX' function.
pub unsafe fn unlock(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of_used(mutex).unlock)(mutex) }
}

unsafe fn destroy(mutex: *const Mutex) -> c_int {
    // SAFETY: see above. Memory that was a mutex may become one by a static initialiser, or by
    // nothing at all where all is zero.
    unsafe {
        let result = (of_used(mutex).destroy)(mutex);
        if result == 0 {
            (*mutex).choice.store(0, Relaxed);
        }
        result
    }
}

unsafe fn is_ours(mutex: *const Mutex) -> c_int {
    // SAFETY: see above.
    unsafe { (of_used(mutex).is_ours)(mutex) }
}

unsafe fn made(mutex: *const Mutex) {
    // SAFETY: see above.
    choose(unsafe { &*mutex }, Moment::Created);
}

const _: () = assert!(LEFT != 0);
