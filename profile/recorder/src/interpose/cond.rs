//! `pthread_cond_*`.
//!
//! libc has most of these in an old and a new version with different code, and `dlsym` without a
//! version may return either. So the version is given.
//!
//! A wait releases the mutex and takes it again inside libc, where we don't see it. The time for
//! that is part of the wait.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::{entry, real};

entry! {
    fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int;
    fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, deadline: *const timespec) -> c_int;
    fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
    fn pthread_cond_signal(cond: *mut c_void) -> c_int;
    fn pthread_cond_broadcast(cond: *mut c_void) -> c_int;
    fn pthread_cond_init(cond: *mut c_void, attributes: *const c_void) -> c_int;
}

mod real {
    use super::*;

    real! {
        fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, deadline: *const timespec) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
        fn pthread_cond_signal(cond: *mut c_void) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_broadcast(cond: *mut c_void) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_init(cond: *mut c_void, attributes: *const c_void) -> c_int = c"GLIBC_2.3.2";
    }
}

mod imp {
    use syncline_recording::Op;

    use super::*;
    use crate::count::{Caller, Outcome, counted, wait_letting_go, waking};

    /// Waits; meanwhile the mutex does not count as held.
    unsafe fn wait(
        op: Op,
        cond: *mut c_void,
        mutex: *mut c_void,
        caller: Caller,
        block: impl FnOnce() -> c_int,
    ) -> c_int {
        // SAFETY: the program's own call, and `caller` is the entry's.
        unsafe {
            let (cond, mutex) = (cond as usize, mutex as usize);
            wait_letting_go(op, cond, mutex, caller, block, Outcome::of)
        }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_wait(
        cond: *mut c_void,
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            wait(Op::CondWait, cond, mutex, caller, move || real::pthread_cond_wait(cond, mutex))
        }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
        cond: *mut c_void,
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            wait(Op::CondTimedwait, cond, mutex, caller, move || {
                real::pthread_cond_timedwait(cond, mutex, deadline)
            })
        }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
        cond: *mut c_void,
        mutex: *mut c_void,
        clock: clockid_t,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            wait(Op::CondTimedwait, cond, mutex, caller, move || {
                real::pthread_cond_clockwait(cond, mutex, clock, deadline)
            })
        }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_signal(
        cond: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            waking(cond as usize);
            counted(Op::CondSignal, cond as usize, caller, real::pthread_cond_signal(cond))
        }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_broadcast(
        cond: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            waking(cond as usize);
            counted(Op::CondBroadcast, cond as usize, caller, real::pthread_cond_broadcast(cond))
        }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_init(
        cond: *mut c_void,
        attributes: *const c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            counted(Op::CondInit, cond as usize, caller, real::pthread_cond_init(cond, attributes))
        }
    }
}
