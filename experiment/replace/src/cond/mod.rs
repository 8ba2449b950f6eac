//! `pthread_cond_*`.
//!
//! If a lock replaces mutexes, a condition variable is ours from its first wait on, with any mutex.
//! Before that, it is as the C library made it, and has no waiters. The bit `OURS` in one of its
//! words says whether it is ours.
//!
//! A condition variable that processes share stays the C library's if it is used with mutexes that
//! are left to the C library: another process may not have this library. If the process waits for a
//! shared condition variable with a replaced mutex, this library handles the condition variable
//! until the next wait with a mutex that is not replaced. While a thread waits for a shared one
//! with a mutex of one kind, a wait with the other kind is refused (EINVAL, as POSIX allows for
//! different mutexes).
//!
//! ```text
//!   bytes   the C library's              ours
//!    0- 7   its sequence                 sequence, waiters
//!    8-35   its groups                   -
//!   36-39   its waiters, clock, sharing  OURS, clock, sharing
//! ```
//!
//! A notification changes the sequence, and a waiter sleeps only while the sequence has the value
//! that it had when the waiter held the mutex. So no notification is lost. The kernel wakes waiters
//! in the order of arrival. A waiter that was about to sleep when another was notified may return
//! without a notification, as POSIX allows.
//!
//! Waiters count themselves. So a notification without waiters writes nothing, and
//! `pthread_cond_destroy` can wait until the woken threads have left, as POSIX requires.
//!
//! A thread that is cancelled while it waits may have consumed a notification, so it wakes another
//! waiter.

mod object;
mod wait;

pub use object::Cond;

use core::ffi::c_int;

use libc::{EINVAL, clockid_t, timespec};

use crate::choice::MUTEXES;
use crate::deadline;
use crate::mutex::{Mutex, Ops};
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
        let is_ours = (MUTEXES.get().is_ours)(mutex) != 0;
        if !is_ours && (!MUTEXES.get().replaces || (*cond).is_shared()) {
            return if (*cond).make_theirs() { left() } else { EINVAL };
        }
        if let Some((clock, time)) = until
            && !deadline::is_time(clock, time)
        {
            return EINVAL;
        }
        if !(*cond).make_ours() {
            return EINVAL;
        }
        let ops = if is_ours { MUTEXES.get() } else { &Ops::LEFT };
        wait(cond, mutex, ops, until)
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(cond: *const Cond, mutex: *const Mutex) -> c_int {
    // SAFETY: the program's own call.
    unsafe { wait_with(cond, mutex, None, || real::pthread_cond_wait(cond, mutex)) }
}

/// # Safety
/// Same requirements as POSIX' function.
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
/// Same requirements as the C library's function.
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
/// Same requirements as POSIX' function.
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
/// Same requirements as POSIX' function.
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
/// Same requirements as POSIX' function.
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
