//! `pthread_rwlock_*`.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

super::passed! {
    acquire: fn pthread_rwlock_rdlock(lock: *mut c_void);
    attempt: fn pthread_rwlock_tryrdlock(lock: *mut c_void);
    acquire: fn pthread_rwlock_timedrdlock(lock: *mut c_void, until: *const timespec);
    acquire: fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: clockid_t, until: *const timespec);
    acquire: fn pthread_rwlock_wrlock(lock: *mut c_void);
    attempt: fn pthread_rwlock_trywrlock(lock: *mut c_void);
    acquire: fn pthread_rwlock_timedwrlock(lock: *mut c_void, until: *const timespec);
    acquire: fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: clockid_t, until: *const timespec);
}
