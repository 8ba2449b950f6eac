//! A thread-specific key of a preloaded library, by whose destructor it sees threads end.
//!
//! The functions are the C library's own, whatever the program has in front of them.

use core::ffi::{c_int, c_void};

use crate::errno::preserving_errno;

mod real {
    use super::*;

    crate::real! {
        fn pthread_key_create(key: *mut u32, destructor: *mut c_void) -> c_int;
        fn pthread_key_delete(key: u32) -> c_int;
        fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    }
}

/// A new key; none if it can't be had, and then threads end unseen.
///
/// The values of the first keys are in the thread itself. For a later one the C library would
/// allocate, with the program's allocator, so that is no key for us: make it early.
pub fn create_key(destructor: unsafe extern "C" fn(*mut c_void)) -> Option<u32> {
    const FIRST_KEYS: u32 = 32;
    let mut key = 0;
    // SAFETY: the key is written to, and a destructor takes whatever is stored under it.
    if unsafe { real::pthread_key_create(&raw mut key, destructor as *mut c_void) } != 0 {
        return None;
    }
    if key >= FIRST_KEYS {
        delete_key(key);
        return None;
    }
    Some(key)
}

/// Gives back a key that nobody has used.
pub fn delete_key(key: u32) {
    // SAFETY: the caller's own key.
    unsafe { real::pthread_key_delete(key) };
}

/// Stores the calling thread's value of a key, and says whether that could be done.
///
/// # Safety
/// The key's destructor can take the value.
pub unsafe fn set_value(key: u32, value: *const c_void) -> bool {
    // SAFETY: by this function's own condition.
    preserving_errno(|| unsafe { real::pthread_setspecific(key, value) }) == 0
}
