//! The processors that this process may use, and pinning threads to one of them.

use std::{io, mem};

/// The number of processors that this process may use.
pub fn count() -> usize {
    allowed().map_or(1, |set| {
        // SAFETY: the kernel has filled in the set.
        unsafe { libc::CPU_COUNT(&set) as usize }
    })
}

/// Pins the calling thread to one of the processors. Threads with different numbers get different
/// processors if there are enough.
pub fn keep_apart(thread: usize) {
    let Ok(set) = allowed() else { return };
    // SAFETY: the numbers are below the set's size.
    let mut usable =
        (0..libc::CPU_SETSIZE as usize).filter(|&i| unsafe { libc::CPU_ISSET(i, &set) });
    if let Some(processor) = usable.nth(thread % count()) {
        // SAFETY: all bits of the set may be zero.
        let mut own: libc::cpu_set_t = unsafe { mem::zeroed() };
        // SAFETY: the number comes from a set of that size.
        unsafe { libc::CPU_SET(processor, &mut own) };
        // If pinning fails, the measurement only gets noisier.
        let _ = set_allowed(&own);
    }
}

/// Runs a function while this thread is pinned to one processor.
pub fn staying_on_one<T>(run: impl FnOnce() -> T) -> T {
    let before = allowed();
    keep_apart(0);
    let result = run();
    if let Ok(before) = before {
        let _ = set_allowed(&before);
    }
    result
}

fn allowed() -> io::Result<libc::cpu_set_t> {
    // SAFETY: all bits of the set may be zero.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live set of this size.
    match unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } {
        0 => Ok(set),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set_allowed(set: &libc::cpu_set_t) -> io::Result<()> {
    // SAFETY: as above.
    match unsafe { libc::sched_setaffinity(0, size_of_val(set), set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
