//! `pthread_cond_*wait`. libc has an old and a new version of `pthread_cond_wait` and
//! `pthread_cond_timedwait`, with different code. `dlsym` may return either, so the version is
//! given here.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};
use syncline_interpose::{entry, real};

entry! {
    fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int;
    fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, deadline: *const timespec) -> c_int;
    fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
}

mod real {
    use super::*;

    real! {
        fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, deadline: *const timespec) -> c_int = c"GLIBC_2.3.2";
        fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: clockid_t, deadline: *const timespec) -> c_int;
    }
}

mod imp {
    use super::*;
    use crate::interpose::wait;
    use crate::section::Caller;

    pub unsafe extern "C-unwind" fn pthread_cond_wait(
        cond: *mut c_void,
        mutex: *mut c_void,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe { wait(mutex.addr(), caller, || real::pthread_cond_wait(cond, mutex)) }
    }

    pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
        cond: *mut c_void,
        mutex: *mut c_void,
        deadline: *const timespec,
        caller: Caller,
    ) -> c_int {
        // SAFETY: the program's own call.
        unsafe {
            wait(mutex.addr(), caller, || real::pthread_cond_timedwait(cond, mutex, deadline))
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
            wait(mutex.addr(), caller, || {
                real::pthread_cond_clockwait(cond, mutex, clock, deadline)
            })
        }
    }
}
