//! `pthread_spin_*`.

use core::ffi::{c_int, c_void};

super::passed! {
    acquire: fn pthread_spin_lock(lock: *mut c_void);
    attempt: fn pthread_spin_trylock(lock: *mut c_void);
}
