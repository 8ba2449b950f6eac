//! Runs code that signal handlers must not interrupt.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

thread_local! {
    /// Whether all signals of this thread are blocked, by a call of this module.
    static BLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function while all signals of this thread are blocked. Threads that the function starts
/// inherit that, so the program's signal handlers never run in them.
///
/// Calls within the function cost nothing.
pub fn without_signals<R>(act: impl FnOnce() -> R) -> R {
    if BLOCKED.get() {
        return act();
    }
    let mut before = MaybeUninit::uninit();
    // SAFETY: these are signal sets, which are written before they are read.
    let before = unsafe {
        let mut all = MaybeUninit::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    };
    let _restore = Restore(before);
    signals_are_blocked(act)
}

/// Calls a function in a thread whose signals are all blocked already, as in a signal handler that was
/// installed so. Saves the calls of [`without_signals`] within the function their system calls.
pub fn signals_are_blocked<R>(act: impl FnOnce() -> R) -> R {
    let _mark = Mark(BLOCKED.replace(true));
    act()
}

/// When this is dropped, also by a panic, the mark is as before.
struct Mark(bool);

impl Drop for Mark {
    fn drop(&mut self) {
        BLOCKED.set(self.0);
    }
}

/// When this is dropped, also by a panic, these signals are blocked and no others.
struct Restore(libc::sigset_t);

impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: the set is one that the kernel has written.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_blocked() -> bool {
        let mut now = MaybeUninit::uninit();
        // SAFETY: the set is written before it is read.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), now.as_mut_ptr());
            libc::sigismember(now.as_ptr(), libc::SIGUSR1) == 1
        }
    }

    #[test]
    fn signals_are_blocked_until_the_outermost_call_ends() {
        assert!(!is_blocked());
        without_signals(|| {
            without_signals(|| assert!(is_blocked()));
            assert!(is_blocked(), "the inner call has restored them");
        });
        assert!(!is_blocked() && !BLOCKED.get());
        let panics = std::panic::catch_unwind(|| without_signals(|| panic!("on purpose")));
        assert!(panics.is_err() && !is_blocked() && !BLOCKED.get());
    }
}
