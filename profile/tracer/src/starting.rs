//! What is done when the program starts, and in a child that it forks.

use crate::{aside, dispatch, process, thread};

/// Runs when the program starts.
extern "C" fn starts() {
    dispatch::syscall::behind();
    if process::current().is_some() {
        // SAFETY: the handler changes the thread's own words, and a count. If there is no memory for it,
        // the first acquisitions of a child may be passed over.
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
