//! `pthread_mutex_*`.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

super::passed! {
    acquire: fn pthread_mutex_lock(mutex: *mut c_void);
    attempt: fn pthread_mutex_trylock(mutex: *mut c_void);
    acquire: fn pthread_mutex_timedlock(mutex: *mut c_void, until: *const timespec);
    acquire: fn pthread_mutex_clocklock(mutex: *mut c_void, clock: clockid_t, until: *const timespec);
}
