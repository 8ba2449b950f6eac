//! `errno` belongs to the program: a preloaded library's own calls must not change it.

/// Runs a function that may change `errno`, and then restores `errno`.
pub fn preserving_errno<R>(action: impl FnOnce() -> R) -> R {
    // SAFETY: errno is always there, and this thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let result = action();
        *errno = before;
        result
    }
}
