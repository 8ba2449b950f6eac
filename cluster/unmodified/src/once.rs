//! What is done once: `pthread_once`, and C++'s variables in functions.

use std::ffi::c_int;

use libc::pthread_once_t;
use syncline_interpose::real;

use crate::fence;
use crate::gate::{ours, shares};
use crate::objects::{Kind, Object};
use crate::words::{ALL, rank};

/// The object's words.
const STATE: usize = 0;
/// A bit for each of the first 64 ranks that has seen what was done.
const SEEN: usize = 1;

const NEW: u64 = 0;
const RUNS: u64 = 1;
const DONE: u64 = 2;

mod own {
    use super::*;

    real! {
        fn pthread_once(control: *mut pthread_once_t, action: extern "C-unwind" fn()) -> c_int;
        fn call_once(control: *mut pthread_once_t, action: extern "C-unwind" fn());
        fn __cxa_guard_acquire(guard: *mut u64) -> c_int;
        fn __cxa_guard_release(guard: *mut u64);
        fn __cxa_guard_abort(guard: *mut u64);
    }
}

/// Whether the calling thread has to do it. Otherwise it is done, and visible.
fn begins(object: Object) -> bool {
    let state = object.word(STATE);
    while state.load() != DONE {
        if state.exchange(NEW, RUNS) {
            return true;
        }
        state.wait_while(RUNS, None);
    }
    let bit = 1_u64.checked_shl(rank() as u32).unwrap_or(0);
    if object.word(SEEN).load() & bit == 0 {
        fence::acquire();
        object.word(SEEN).set_bits(bit);
    }
    false
}

fn ends(object: Object, state: u64) {
    fence::release();
    object.word(STATE).store(state);
    object.word(STATE).wake(ALL);
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_once(
    control: *mut pthread_once_t,
    action: extern "C-unwind" fn(),
) -> c_int {
    if !shares(control) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_once(control, action) };
    }
    if ours(|| begins(Object::at(control, Kind::Once))) {
        action();
        ours(|| ends(Object::at(control, Kind::Once), DONE));
    }
    0
}

/// # Safety
/// Same requirements as C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn call_once(
    control: *mut pthread_once_t,
    action: extern "C-unwind" fn(),
) {
    // SAFETY: the caller's own call.
    unsafe {
        match shares(control) {
            true => {
                pthread_once(control, action);
            }
            false => own::call_once(control, action),
        }
    }
}

/// The compiler's code looks at the guard's first byte before it calls this. The byte stays 0:
/// another rank could see it before it sees the variable.
///
/// # Safety
/// Same requirements as the function of the C++ ABI.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __cxa_guard_acquire(guard: *mut u64) -> c_int {
    if !shares(guard) {
        // SAFETY: the caller's own call.
        return unsafe { own::__cxa_guard_acquire(guard) };
    }
    c_int::from(ours(|| begins(Object::at(guard, Kind::Once))))
}

/// # Safety
/// Same requirements as the function of the C++ ABI.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __cxa_guard_release(guard: *mut u64) {
    if !shares(guard) {
        // SAFETY: the caller's own call.
        return unsafe { own::__cxa_guard_release(guard) };
    }
    ours(|| ends(Object::at(guard, Kind::Once), DONE));
}

/// # Safety
/// Same requirements as the function of the C++ ABI.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __cxa_guard_abort(guard: *mut u64) {
    if !shares(guard) {
        // SAFETY: the caller's own call.
        return unsafe { own::__cxa_guard_abort(guard) };
    }
    ours(|| ends(Object::at(guard, Kind::Once), NEW));
}
