//! The delegation locks whose sections this thread is running, nested in each other.

use std::cell::Cell;
use std::ptr;

thread_local! {
    static INNERMOST: Cell<*const Running> = const { Cell::new(ptr::null()) };
}

/// A section of this lock that is running, in a frame of this thread's stack.
struct Running {
    lock: *const (),
    outer: *const Running,
}

/// Whether this thread is running a section of the lock at this address.
pub(crate) fn is_inside(lock: *const ()) -> bool {
    let mut next = INNERMOST.get();
    while !next.is_null() {
        // SAFETY: it is in an outer frame of this stack, and lives as long as it is linked here.
        let running = unsafe { &*next };
        if running.lock == lock {
            return true;
        }
        next = running.outer;
    }
    false
}

/// Runs a section of the lock at this address.
pub(crate) fn inside(lock: *const (), section: impl FnOnce()) {
    let running = Running { lock, outer: INNERMOST.get() };
    INNERMOST.set(&raw const running);
    section();
    INNERMOST.set(running.outer);
}
