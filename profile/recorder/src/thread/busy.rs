//! Changes in steps, which a signal handler may interrupt.

use core::sync::atomic::{Ordering, compiler_fence};

use crate::thread::ThreadState;

/// Marks a state as being changed in steps.
pub struct Busy<'a>(&'a ThreadState);

impl Busy<'_> {
    /// None if it is marked already: this is a signal handler that interrupted the change.
    pub fn enter(state: &ThreadState) -> Option<Busy<'_>> {
        if state.busy.load(Ordering::Relaxed) != 0 {
            return None;
        }
        state.busy.store(1, Ordering::Relaxed);
        // The only other party is a signal handler on this thread.
        compiler_fence(Ordering::SeqCst);
        Some(Busy(state))
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.busy.store(0, Ordering::Relaxed);
    }
}
