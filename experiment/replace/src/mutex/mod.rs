//! Mutexes: the position of a replaced one's lock, and the behaviour that POSIX requires of each
//! kind, over any lock.

mod layout;
mod ops;
pub mod plain;
mod spinning;
mod until;

pub use layout::{Kind, Mutex};
pub use ops::Ops;
pub use until::{NEVER, Polled, Timed, Until, poll};

use core::ffi::{c_int, c_void};

use libc::{clockid_t, timespec};

/// The C library's own.
pub mod real {
    use super::*;

    syncline_interpose::real! {
        fn pthread_mutex_lock(mutex: *const Mutex) -> c_int;
        fn pthread_mutex_trylock(mutex: *const Mutex) -> c_int;
        fn pthread_mutex_unlock(mutex: *const Mutex) -> c_int;
        fn pthread_mutex_clocklock(mutex: *const Mutex, clock: clockid_t, until: *const timespec) -> c_int;
        fn pthread_mutex_init(mutex: *const Mutex, attributes: *const c_void) -> c_int;
        fn pthread_mutex_destroy(mutex: *const Mutex) -> c_int;
    }
}
