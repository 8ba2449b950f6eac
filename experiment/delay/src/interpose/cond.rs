//! `pthread_cond_*wait`. libc has an old and a new version of the first two, with different code.
//! Either may be the default, so the version is given here.
//!
//! A wait ends with the mutex held, so the delay is spent while the mutex is held.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

super::passed! {
    wait: fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) = c"GLIBC_2.3.2";
    wait: fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, until: *const timespec) = c"GLIBC_2.3.2";
    wait: fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: clockid_t, until: *const timespec);
}
