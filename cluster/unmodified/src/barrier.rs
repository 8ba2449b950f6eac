//! Barriers. The last thread that arrives begins the next round.

use std::ffi::{c_int, c_uint};

use libc::{EINVAL, PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_t, pthread_barrierattr_t};
use syncline_interpose::real;

use crate::fence;
use crate::gate::{ours, shares};
use crate::objects::{Kind, Object};
use crate::words::ALL;

/// The object's words.
const ROUND: usize = 0;
const ARRIVED: usize = 1;
const THREADS: usize = 2;

mod own {
    use super::*;

    real! {
        fn pthread_barrier_init(barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, threads: c_uint) -> c_int;
        fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int;
        fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int;
    }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    threads: c_uint,
) -> c_int {
    if !shares(barrier) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_barrier_init(barrier, attributes, threads) };
    }
    if threads == 0 {
        return EINVAL;
    }
    ours(|| Object::new(barrier, Kind::Barrier).word(THREADS).store(threads.into()));
    0
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    if shares(barrier) {
        return 0;
    }
    // SAFETY: the caller's own call.
    unsafe { own::pthread_barrier_destroy(barrier) }
}

/// # Safety
/// Same requirements as POSIX' function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    if !shares(barrier) {
        // SAFETY: the caller's own call.
        return unsafe { own::pthread_barrier_wait(barrier) };
    }
    ours(|| {
        let object = Object::at(barrier, Kind::Barrier);
        let round = object.word(ROUND);
        fence::release();
        let now = round.load();
        let last = object.word(ARRIVED).add(1) + 1 == object.word(THREADS).load();
        if last {
            object.word(ARRIVED).store(0);
            round.store((now + 1) & 0xffff_ffff);
            round.wake(ALL);
        } else {
            round.wait_while(now, None);
        }
        fence::acquire();
        if last { PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
    })
}
