//! The ends of threads, for other threads: joining and detaching.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

use libc::{
    CLOCK_REALTIME, EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT, clockid_t, pthread_t, timespec,
};
use syncline_interpose::real;

use crate::deadline::Deadline;
use crate::fence;
use crate::gate::{in_program, ours};
use crate::records::{DETACHED, ENDED, Field, State};
use crate::threads::{me, of};

mod own {
    use super::*;

    real! {
        fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int;
        fn pthread_tryjoin_np(thread: pthread_t, value: *mut *mut c_void) -> c_int;
        fn pthread_timedjoin_np(thread: pthread_t, value: *mut *mut c_void, until: *const timespec) -> c_int;
        fn pthread_clockjoin_np(thread: pthread_t, value: *mut *mut c_void, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_detach(thread: pthread_t) -> c_int;
    }
}

/// Waits for a thread's end.
fn join(thread: pthread_t, deadline: Option<Deadline>) -> Result<usize, c_int> {
    let record = of(thread).ok_or(ESRCH)?;
    if record.0 as u64 + 1 == me() {
        return Err(EDEADLK);
    }
    if record.get(Field::Flags) & DETACHED != 0 {
        return Err(EINVAL);
    }
    loop {
        match record.get(Field::State) {
            state if state == State::Ended as u64 => break,
            state if state == State::Free as u64 => return Err(ESRCH),
            state => {
                if !record.word(Field::State).wait_while(state, deadline) {
                    return Err(ETIMEDOUT);
                }
            }
        }
    }
    let value = record.get(Field::Value) as usize;
    record.advance(State::Free);
    fence::acquire();
    Ok(value)
}

unsafe fn joined(result: Result<usize, c_int>, value: *mut *mut c_void) -> c_int {
    match result {
        Ok(found) => {
            if !value.is_null() {
                // SAFETY: by our caller's word.
                unsafe { *value = without_provenance_mut(found) };
            }
            0
        }
        Err(error) => error,
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(thread: pthread_t, value: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::pthread_join(thread, value);
        }
        joined(ours(|| join(thread, None)), value)
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_tryjoin_np(
    thread: pthread_t,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::pthread_tryjoin_np(thread, value);
        }
        let ended = ours(|| of(thread).is_none_or(|record| record.is(State::Ended)));
        if ended { pthread_join(thread, value) } else { EBUSY }
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(
    thread: pthread_t,
    value: *mut *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        match in_program() {
            true => pthread_clockjoin_np(thread, value, CLOCK_REALTIME, until),
            false => own::pthread_timedjoin_np(thread, value, until),
        }
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_clockjoin_np(
    thread: pthread_t,
    value: *mut *mut c_void,
    clock: clockid_t,
    until: *const timespec,
) -> c_int {
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() {
            return own::pthread_clockjoin_np(thread, value, clock, until);
        }
        let deadline = Deadline::of(clock, until);
        joined(ours(|| join(thread, Some(deadline?))), value)
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_detach(thread: pthread_t) -> c_int {
    if !in_program() {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_detach(thread) };
    }
    ours(|| {
        let Some(record) = of(thread) else { return ESRCH };
        let before = record.word(Field::Flags).set_bits(DETACHED);
        if before & DETACHED != 0 {
            return EINVAL;
        }
        if before & ENDED != 0 {
            // It may be about to say so.
            record.word(Field::State).wait_while(State::Runs as u64, None);
            record.advance(State::Free);
        }
        0
    })
}
