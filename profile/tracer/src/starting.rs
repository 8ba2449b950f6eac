//! What is done when the program starts, and in each child that it forks.

use crate::{aside, dispatch, process, thread};

/// Runs when the program starts.
extern "C" fn starts() {
    dispatch::syscall::behind();
    if process::current().is_some() {
        // SAFETY: the handler changes thread-local words and a count, and calls nothing that is
        // unsafe after a fork. (If there is no memory to register it, the first acquisitions of a
        // child may be passed over.)
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    }
}

/// Runs in a forked child.
extern "C" fn forked() {
    aside::forked();
    thread::often::forget();
}

#[used]
#[unsafe(link_section = ".init_array")]
static STARTS: extern "C" fn() = starts;
