//! `syncline_cond_t`: the library's condition variable as it is. Waiting for one is a function
//! of each lock.

use std::ffi::c_int;

use syncline::Condvar;

use crate::boundary::{Refusal, at, boundary};

#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_cond_signal(cond: *const Condvar) -> c_int {
    boundary(|| {
        // SAFETY: it may be zero, and C's caller keeps it in place.
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

/// There is nothing to free, so it only says whether somebody waits.
#[unsafe(no_mangle)]
unsafe extern "C" fn syncline_cond_destroy(cond: *const Condvar) -> c_int {
    boundary(|| {
        // SAFETY: as above.
        let cond = unsafe { at(cond) }?;
        if cond.has_waiters() { Err(Refusal::Busy) } else { Ok(()) }
    })
}
