//! The environment, without `getenv`: shells have one of their own, and it may lock.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The value of a variable. Must be called at the program's start, since programs change their
/// environment without a lock.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: at a program's start no other thread changes the environment, which null ends.
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
