//! `syncline_cond_t`: the library's condition variable, unchanged. Each lock has functions of its
//! own that wait for a condition variable, with and without a deadline.

use std::ffi::c_int;

use syncline::Condvar;

use crate::boundary::{Refusal, at, boundary};

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_cond_signal(cond: *const Condvar) -> c_int {
    boundary(|| {
        // SAFETY: it may be zero, and C's caller does not move it.
        unsafe { at(cond) }?.notify_one();
        Ok(())
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_cond_broadcast(cond: *const Condvar) -> c_int {
    boundary(|| {
        // SAFETY: as above.
        unsafe { at(cond) }?.notify_all();
        Ok(())
    })
}

/// Checks that no thread waits. There is nothing to free.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_cond_destroy(cond: *const Condvar) -> c_int {
    boundary(|| {
        // SAFETY: as above.
        let cond = unsafe { at(cond) }?;
        if cond.has_waiters() { Err(Refusal::Busy) } else { Ok(()) }
    })
}
