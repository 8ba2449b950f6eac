//! Semaphores without a name.

use std::ffi::{c_int, c_uint};

use libc::{CLOCK_REALTIME, EAGAIN, ETIMEDOUT, clockid_t, sem_t, timespec};
use syncline_interpose::real;

use crate::deadline::Deadline;
use crate::fail::refuse;
use crate::fence;
use crate::gate::{ours, shares};
use crate::objects::{Kind, Object};

/// The object's words.
const VALUE: usize = 0;
const WAITERS: usize = 1;

mod own {
    use super::*;

    real! {
        fn sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint) -> c_int;
        fn sem_destroy(semaphore: *mut sem_t) -> c_int;
        fn sem_wait(semaphore: *mut sem_t) -> c_int;
        fn sem_trywait(semaphore: *mut sem_t) -> c_int;
        fn sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int;
        fn sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int;
        fn sem_post(semaphore: *mut sem_t) -> c_int;
        fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int;
    }
}

fn at(semaphore: *const sem_t) -> Object {
    Object::at(semaphore, Kind::Semaphore)
}

fn take(object: Object) -> bool {
    let value = object.word(VALUE);
    let mut now = value.load();
    while now > 0 {
        if value.exchange(now, now - 1) {
            fence::acquire();
            return true;
        }
        now = value.load();
    }
    false
}

fn wait(object: Object, deadline: Option<Deadline>) -> Result<(), c_int> {
    while !take(object) {
        object.word(WAITERS).add(1);
        let in_time = object.word(VALUE).wait_while(0, deadline);
        object.word(WAITERS).add(u64::MAX);
        if !in_time {
            return Err(ETIMEDOUT);
        }
    }
    Ok(())
}

/// The result of the functions that set `errno`.
fn result(of: Result<(), c_int>) -> c_int {
    let Err(error) = of else { return 0 };
    // SAFETY: this thread's `errno`.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_init(
    semaphore: *mut sem_t,
    shared: c_int,
    value: c_uint,
) -> c_int {
    if shares(semaphore) && shared != 0 {
        refuse("sem_init for several processes");
    }
    // SAFETY: the caller's own call.
    let status = unsafe { own::sem_init(semaphore, shared, value) };
    if shares(semaphore) && status == 0 {
        ours(|| Object::new(semaphore, Kind::Semaphore).word(VALUE).store(value.into()));
    }
    status
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_destroy(semaphore: *mut sem_t) -> c_int {
    if shares(semaphore) {
        return 0;
    }
    // SAFETY: the caller's own call.
    unsafe { own::sem_destroy(semaphore) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: *mut sem_t) -> c_int {
    if shares(semaphore) {
        return result(ours(|| wait(at(semaphore), None)));
    }
    // SAFETY: the caller's own call.
    unsafe { own::sem_wait(semaphore) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_trywait(semaphore: *mut sem_t) -> c_int {
    if shares(semaphore) {
        return result(ours(|| if take(at(semaphore)) { Ok(()) } else { Err(EAGAIN) }));
    }
    // SAFETY: the caller's own call.
    unsafe { own::sem_trywait(semaphore) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_timedwait(
    semaphore: *mut sem_t,
    until: *const timespec,
) -> c_int {
    if !shares(semaphore) {
        // SAFETY: the caller's own call.
        return unsafe { own::sem_timedwait(semaphore, until) };
    }
    // SAFETY: the caller's own call.
    unsafe { sem_clockwait(semaphore, CLOCK_REALTIME, until) }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    if !shares(semaphore) {
        // SAFETY: the caller's own call.
        return unsafe { own::sem_clockwait(semaphore, clock, until) };
    }
    result(ours(|| {
        // SAFETY: the caller's own call.
        let deadline = unsafe { Deadline::of(clock, until) }?;
        wait(at(semaphore), Some(deadline))
    }))
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_post(semaphore: *mut sem_t) -> c_int {
    if !shares(semaphore) {
        // SAFETY: the caller's own call.
        return unsafe { own::sem_post(semaphore) };
    }
    ours(|| {
        fence::release();
        let object = at(semaphore);
        object.word(VALUE).add(1);
        if object.word(WAITERS).load() > 0 {
            object.word(VALUE).wake(1);
        }
    });
    0
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_getvalue(semaphore: *mut sem_t, value: *mut c_int) -> c_int {
    if !shares(semaphore) {
        // SAFETY: the caller's own call.
        return unsafe { own::sem_getvalue(semaphore, value) };
    }
    let now = ours(|| at(semaphore).word(VALUE).load());
    // SAFETY: the caller's own call.
    unsafe { *value = now as c_int };
    0
}
