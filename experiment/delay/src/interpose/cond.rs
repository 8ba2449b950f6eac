//! `pthread_cond_*wait`. Each exists in libc in an old and a new version with different code, of
//! which the default may be either; hence the version.
//!
//! The wait ends with the mutex held, and so the delay is spent with it held.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

super::passed! {
    wait: fn pthread_cond_wait(cond: *mut c_void, mutex: *mut c_void) = c"GLIBC_2.3.2";
    wait: fn pthread_cond_timedwait(cond: *mut c_void, mutex: *mut c_void, until: *const timespec) = c"GLIBC_2.3.2";
    wait: fn pthread_cond_clockwait(cond: *mut c_void, mutex: *mut c_void, clock: clockid_t, until: *const timespec);
}
