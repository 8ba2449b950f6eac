//! C11's `mtx_*` and `cnd_*`, which the C library doesn't route through `pthread_*`. `thrd_success`
//! is 0, and no other result has the value of `EOWNERDEAD`.

use core::ffi::{c_int, c_void};

use libc::timespec;

super::passed! {
    acquire: fn mtx_lock(mutex: *mut c_void);
    attempt: fn mtx_trylock(mutex: *mut c_void);
    acquire: fn mtx_timedlock(mutex: *mut c_void, until: *const timespec);
    wait: fn cnd_wait(cond: *mut c_void, mutex: *mut c_void);
    wait: fn cnd_timedwait(cond: *mut c_void, mutex: *mut c_void, until: *const timespec);
}
