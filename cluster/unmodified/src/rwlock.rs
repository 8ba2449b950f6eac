//! Reader-writer locks: a count of readers, or a writer. A writer that waits keeps new readers out.

use std::ffi::c_int;

use libc::{
    CLOCK_REALTIME, EBUSY, EDEADLK, ETIMEDOUT, clockid_t, pthread_rwlock_t, pthread_rwlockattr_t,
    timespec,
};
use syncline_interpose::real;

use crate::deadline::Deadline;
use crate::fence;
use crate::gate::{ours, shares};
use crate::mutex::status;
use crate::objects::{Kind, Object};
use crate::threads;
use crate::words::ALL;

/// The object's words: the number of readers, or [`WRITER`].
const STATE: usize = 0;
/// How many writers wait.
const WRITERS: usize = 1;
/// The thread that writes.
const OWNER: usize = 2;
/// How many threads wait.
const WAITERS: usize = 3;

const WRITER: u64 = 0xffff_ffff;

mod own {
    use super::*;

    real! {
        fn pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t) -> c_int;
        fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
        fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;
    }
}

fn at(lock: *const pthread_rwlock_t) -> Object {
    Object::at(lock, Kind::ReaderWriter)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

/// One attempt. On failure, returns the state to wait for a change of.
fn attempt(object: Object, how: Use) -> Result<(), u64> {
    let state = object.word(STATE);
    loop {
        let now = state.load();
        let new = match how {
            Use::Read if now == WRITER => return Err(now),
            // Readers that hold it already let others in only while no writer waits.
            Use::Read if now > 0 && object.word(WRITERS).load() > 0 => return Err(now),
            Use::Read => now + 1,
            Use::Write if now != 0 => return Err(now),
            Use::Write => WRITER,
        };
        if state.exchange(now, new) {
            if how == Use::Write {
                object.word(OWNER).store(threads::me());
            }
            fence::acquire();
            return Ok(());
        }
    }
}

fn lock(object: Object, how: Use, deadline: Option<Deadline>) -> Result<(), c_int> {
    if object.word(STATE).load() == WRITER && object.word(OWNER).load() == threads::me() {
        return Err(EDEADLK);
    }
    if attempt(object, how).is_ok() {
        return Ok(());
    }
    let writers = u64::from(how == Use::Write);
    object.word(WAITERS).add(1);
    object.word(WRITERS).add(writers);
    let result = loop {
        match attempt(object, how) {
            Ok(()) => break Ok(()),
            Err(seen) if object.word(STATE).wait_while(seen, deadline) => {}
            Err(_) => break Err(ETIMEDOUT),
        }
    };
    object.word(WRITERS).add(writers.wrapping_neg());
    object.word(WAITERS).add(u64::MAX);
    result
}

fn unlock(object: Object) {
    let state = object.word(STATE);
    fence::release();
    if state.load() == WRITER {
        object.word(OWNER).store(0);
        state.store(0);
    } else {
        state.add(u64::MAX);
    }
    if object.word(WAITERS).load() > 0 {
        state.wake(ALL);
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    attributes: *const pthread_rwlockattr_t,
) -> c_int {
    // SAFETY: the caller's own call.
    let status = unsafe { own::pthread_rwlock_init(lock, attributes) };
    if shares(lock) {
        ours(|| Object::new(lock, Kind::ReaderWriter));
    }
    status
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_destroy(lock: *mut pthread_rwlock_t) -> c_int {
    if shares(lock) {
        return 0;
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_rwlock_destroy(lock) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int {
    if shares(lock) {
        ours(|| unlock(at(lock)));
        return 0;
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_rwlock_unlock(lock) }
}

macro_rules! locks {
    ($($how:ident: $lock:ident, $try_lock:ident, $timed:ident, $clock:ident;)*) => {
        $(
            /// # Safety
            /// Same requirements as POSIX' function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $lock(lock: *mut pthread_rwlock_t) -> c_int {
                if shares(lock) {
                    return ours(|| status(self::lock(at(lock), Use::$how, None)));
                }
                // SAFETY: the caller's own call.
                unsafe { own::$lock(lock) }
            }

            /// # Safety
            /// Same requirements as POSIX' function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $try_lock(lock: *mut pthread_rwlock_t) -> c_int {
                if shares(lock) {
                    return ours(|| status(attempt(at(lock), Use::$how).map_err(|_| EBUSY)));
                }
                // SAFETY: the caller's own call.
                unsafe { own::$try_lock(lock) }
            }

            /// # Safety
            /// Same requirements as POSIX' function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $timed(
                lock: *mut pthread_rwlock_t,
                until: *const timespec,
            ) -> c_int {
                if shares(lock) {
                    // SAFETY: the caller's own call.
                    return unsafe { $clock(lock, CLOCK_REALTIME, until) };
                }
                // SAFETY: the caller's own call.
                unsafe { own::$timed(lock, until) }
            }

            /// # Safety
            /// Same requirements as the C library's function of this name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $clock(
                lock: *mut pthread_rwlock_t,
                clock: clockid_t,
                until: *const timespec,
            ) -> c_int {
                if !shares(lock) {
                    // SAFETY: the caller's own call.
                    return unsafe { own::$clock(lock, clock, until) };
                }
                ours(|| {
                    // SAFETY: the caller's own call.
                    let deadline = unsafe { Deadline::of(clock, until) };
                    status(deadline.and_then(|at_most| self::lock(at(lock), Use::$how, Some(at_most))))
                })
            }
        )*
    };
}

locks! {
    Read: pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock;
    Write: pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock;
}
