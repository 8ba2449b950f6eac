//! The C library's own functions for mutexes.

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

use super::layout::Mutex;

syncline_interpose::real! {
    fn pthread_mutex_lock(mutex: *const Mutex) -> c_int;
    fn pthread_mutex_trylock(mutex: *const Mutex) -> c_int;
    fn pthread_mutex_unlock(mutex: *const Mutex) -> c_int;
    fn pthread_mutex_clocklock(mutex: *const Mutex, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_mutex_init(mutex: *const Mutex, attributes: *const c_void) -> c_int;
    fn pthread_mutex_destroy(mutex: *const Mutex) -> c_int;
}
