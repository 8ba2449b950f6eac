//! Reads the environment without `getenv`: shells have a `getenv` of their own, which may lock.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The value of a variable; `None` if it is not set. Must be called while the program starts, since
/// programs change their environment without a lock.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: while a program starts, no other thread changes the environment, which ends in null.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            let entry = CStr::from_ptr(*next);
            let value = entry.to_bytes().strip_prefix(name.to_bytes());
            if value.is_some_and(|value| value.starts_with(b"=")) {
                return Some(CStr::from_ptr((*next).add(name.count_bytes() + 1)));
            }
            next = next.add(1);
        }
    }
    None
}
