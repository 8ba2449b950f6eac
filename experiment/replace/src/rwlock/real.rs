//! The C library's own functions for reader-writer locks.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

use super::layout::Rwlock;

syncline_interpose::real! {
    fn pthread_rwlock_init(lock: *const Rwlock, attributes: *const c_void) -> c_int;
    fn pthread_rwlock_destroy(lock: *const Rwlock) -> c_int;
    fn pthread_rwlock_rdlock(lock: *const Rwlock) -> c_int;
    fn pthread_rwlock_tryrdlock(lock: *const Rwlock) -> c_int;
    fn pthread_rwlock_clockrdlock(lock: *const Rwlock, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_rwlock_wrlock(lock: *const Rwlock) -> c_int;
    fn pthread_rwlock_trywrlock(lock: *const Rwlock) -> c_int;
    fn pthread_rwlock_clockwrlock(lock: *const Rwlock, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_rwlock_unlock(lock: *const Rwlock) -> c_int;
}
