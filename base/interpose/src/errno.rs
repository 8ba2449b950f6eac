//! `errno` belongs to the program: calls that a preloaded library makes for itself must leave it
//! unchanged.

/// Runs something that may set `errno`, and sets it back.
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
