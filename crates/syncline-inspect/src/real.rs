//! The functions of libc's that matter most: these have a second name there, so they need no
//! look-up.

use core::ffi::{c_int, c_void};

// An object file names a version behind an @.
unsafe extern "C-unwind" {
    #[link_name = "__pthread_mutex_lock@GLIBC_2.2.5"]
    pub fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    #[link_name = "__pthread_mutex_trylock@GLIBC_2.2.5"]
    pub fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    #[link_name = "__pthread_mutex_unlock@GLIBC_2.2.5"]
    pub fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
}
