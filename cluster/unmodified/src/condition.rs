//! Condition variables. A waiter notes the number of signals before it releases the mutex, and waits
//! until there are more. So it may also be woken by a signal that was meant for another waiter, as
//! POSIX allows.

use std::ffi::{c_int, c_void};

use libc::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, ETIMEDOUT, clockid_t, pthread_cond_t, pthread_condattr_t,
    pthread_mutex_t, timespec,
};
use syncline_interpose::real;

use crate::deadline::Deadline;
use crate::gate::{ours, shares};
use crate::mutex::{self, status};
use crate::objects::{Kind, Object};
use crate::words::ALL;

/// The object's words.
const SIGNALS: usize = 0;
const WAITERS: usize = 1;
/// 1 if deadlines are of the monotonic clock.
const MONOTONIC: usize = 2;

/// Numbers of signals fit into the half of a word that waiters sleep for.
const SIGNAL_BITS: u64 = 0xffff_ffff;

mod own {
    use super::*;

    real! {
        fn pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t) -> c_int;
        fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int;
        fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
        fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, at: *const timespec) -> c_int;
        fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, at: *const timespec) -> c_int;
        fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int;
        fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int;
    }
}

fn at(condition: *const pthread_cond_t) -> Object {
    Object::at(condition, Kind::Condition)
}

fn wait(
    condition: *const pthread_cond_t,
    mutex: *const pthread_mutex_t,
    deadline: Option<Deadline>,
) -> c_int {
    let object = at(condition);
    object.word(WAITERS).add(1);
    let seen = object.word(SIGNALS).load();
    let released = mutex::unlock(mutex);
    let in_time = released.is_err() || object.word(SIGNALS).wait_while(seen, deadline);
    object.word(WAITERS).add(u64::MAX);
    let result = released.and_then(|()| mutex::lock(mutex, None));
    match status(result) {
        0 if !in_time => ETIMEDOUT,
        status => status,
    }
}

fn signal(condition: *const pthread_cond_t, most: u32) -> c_int {
    let (signals, waiters) = (at(condition).word(SIGNALS), at(condition).word(WAITERS));
    if waiters.load() > 0 {
        if signals.add(1) >= SIGNAL_BITS {
            signals.store(0);
        }
        signals.wake(most);
    }
    0
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_init(
    condition: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
) -> c_int {
    // SAFETY: the caller's own call.
    let status = unsafe { own::pthread_cond_init(condition, attributes) };
    if shares(condition) {
        let mut clock = CLOCK_REALTIME;
        if !attributes.is_null() {
            // SAFETY: the program's attributes.
            unsafe { libc::pthread_condattr_getclock(attributes, &raw mut clock) };
        }
        ours(|| {
            let object = Object::new(condition, Kind::Condition);
            object.word(MONOTONIC).store(u64::from(clock == CLOCK_MONOTONIC));
        });
    }
    status
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_destroy(condition: *mut pthread_cond_t) -> c_int {
    if shares(condition) {
        return 0;
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_cond_destroy(condition) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    if shares(condition) {
        return ours(|| wait(condition, mutex, None));
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_cond_wait(condition, mutex) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    if !shares(condition) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_cond_timedwait(condition, mutex, until) };
    }
    let monotonic = ours(|| at(condition).word(MONOTONIC).load() != 0);
    let clock = if monotonic { CLOCK_MONOTONIC } else { CLOCK_REALTIME };
    // SAFETY: the caller's own call.
    unsafe { pthread_cond_clockwait(condition, mutex, clock, until) }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    if !shares(condition) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_cond_clockwait(condition, mutex, clock, until) };
    }
    // SAFETY: the caller's own call.
    ours(|| match unsafe { Deadline::of(clock, until) } {
        Ok(deadline) => wait(condition, mutex, Some(deadline)),
        Err(error) => error,
    })
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    if shares(condition) {
        return ours(|| signal(condition, 1));
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_cond_signal(condition) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    if shares(condition) {
        return ours(|| signal(condition, ALL));
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_cond_broadcast(condition) }
}

/// C's condition variables and mutexes are POSIX' ones.
pub mod c11 {
    use super::*;

    /// The result of C's functions for a status of POSIX' ones.
    pub fn outcome(status: c_int) -> c_int {
        match status {
            0 => 0,
            libc::EBUSY => 1,
            libc::ENOMEM => 3,
            ETIMEDOUT => 4,
            _ => 2,
        }
    }

    macro_rules! c11 {
        ($(fn $name:ident($($arg:ident: $type:ty),*) = $posix:path;)*) => {
            $(
                /// # Safety
                /// Same requirements as C's function.
                #[unsafe(no_mangle)]
                pub unsafe extern "C-unwind" fn $name($($arg: *mut c_void),*) -> c_int {
                    // SAFETY: the caller's own call, of an object with POSIX' layout.
                    outcome(unsafe { $posix($($arg as $type),*) })
                }
            )*
        };
    }

    c11! {
        fn mtx_lock(mutex: *mut pthread_mutex_t) = mutex::pthread_mutex_lock;
        fn mtx_trylock(mutex: *mut pthread_mutex_t) = mutex::pthread_mutex_trylock;
        fn mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) = mutex::pthread_mutex_timedlock;
        fn mtx_unlock(mutex: *mut pthread_mutex_t) = mutex::pthread_mutex_unlock;
        fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) = pthread_cond_wait;
        fn cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) = pthread_cond_timedwait;
        fn cnd_signal(condition: *mut pthread_cond_t) = pthread_cond_signal;
        fn cnd_broadcast(condition: *mut pthread_cond_t) = pthread_cond_broadcast;
    }
}
