//! `pthread_cond_*`.
//!
//! A condition variable is ours from the first wait with a replaced mutex; until then, and with a
//! mutex that is left to the C library, it is the C library's. A mark says which, in a word that
//! both keep.
//!
//! ```text
//!   bytes   the C library's              ours
//!    0- 7   its sequence                 sequence, waiters
//!    8-35   its groups                   -
//!   36-39   its waiters, clock, sharing  OURS, clock, sharing
//! ```
//!
//! A notification changes the sequence, and a waiter sleeps only while it is what it was when the
//! waiter held the mutex; so none is lost. The kernel wakes in the order of arrival. A waiter may
//! wake for no reason, as POSIX allows: if it was about to sleep when another was notified.
//!
//! Waiters count themselves, so that a notification that nobody waits for is a look at a word, and
//! destroying waits for those that were woken to be gone, as POSIX asks for.
//!
//! Whoever is cancelled while it waits has perhaps taken a notification with it, and passes one
//! on.

mod object;
mod wait;

pub use object::Cond;

use core::ffi::c_int;

use libc::{EINVAL, clockid_t, timespec};

use crate::choice::MUTEXES;
use crate::deadline;
use crate::mutex::Mutex;
use wait::wait;

mod real {
    use super::*;

    syncline_interpose::real! {
        fn pthread_cond_wait(cond: *const Cond, mutex: *const Mutex) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_timedwait(cond: *const Cond, mutex: *const Mutex, until: *const timespec) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_clockwait(cond: *const Cond, mutex: *const Mutex, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_cond_signal(cond: *const Cond) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_broadcast(cond: *const Cond) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_destroy(cond: *const Cond) -> c_int = c"GLIBC_2.3.2";
    }
}

/// Waits with any mutex; `left` is the C library's own function.
unsafe fn wait_with(
    cond: *const Cond,
    mutex: *const Mutex,
    until: Option<(clockid_t, *const timespec)>,
    left: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if (MUTEXES.get().is_ours)(mutex) == 0 {
            (*cond).make_theirs();
            return left();
        }
        if let Some((clock, time)) = until
            && !deadline::is_time(clock, time)
        {
            return EINVAL;
        }
        wait(cond, mutex, until)
    }
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(cond: *const Cond, mutex: *const Mutex) -> c_int {
    // SAFETY: the program's own call.
    unsafe { wait_with(cond, mutex, None, || real::pthread_cond_wait(cond, mutex)) }
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: *const Cond,
    mutex: *const Mutex,
    time: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let clock = (*cond).clock();
        let left = || real::pthread_cond_timedwait(cond, mutex, time);
        wait_with(cond, mutex, Some((clock, time)), left)
    }
}

/// # Safety
/// As of the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: *const Cond,
    mutex: *const Mutex,
    clock: clockid_t,
    time: *const timespec,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        let left = || real::pthread_cond_clockwait(cond, mutex, clock, time);
        wait_with(cond, mutex, Some((clock, time)), left)
    }
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_signal(cond: *const Cond) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !(*cond).is_ours() {
            return real::pthread_cond_signal(cond);
        }
        (*cond).notify(1);
    }
    0
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_broadcast(cond: *const Cond) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !(*cond).is_ours() {
            return real::pthread_cond_broadcast(cond);
        }
        (*cond).notify(c_int::MAX);
    }
    0
}

/// # Safety
/// As of POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_destroy(cond: *const Cond) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        if !(*cond).is_ours() {
            return real::pthread_cond_destroy(cond);
        }
        (*cond).drain();
    }
    0
}
