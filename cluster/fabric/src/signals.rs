//! Runs code that signal handlers must not interrupt.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Calls a function while all signals of this thread are blocked. Threads that the function starts
/// inherit that, so the program's signal handlers never run in them.
pub fn without_signals<R>(act: impl FnOnce() -> R) -> R {
    let mut before = MaybeUninit::uninit();
    // SAFETY: these are signal sets, which are written before they are read.
    unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = act();
    // SAFETY: restores the signals that were blocked before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    result
}
