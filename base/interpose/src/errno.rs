//! `errno` belongs to the program: calls that a preloaded library makes for itself must leave it
//! unchanged.

/// Runs a function that may set `errno`, and restores `errno`.
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
