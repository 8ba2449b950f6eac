//! What happens between two blocks is logged, and the log is read.

use super::Engine;
use super::context::Context;
use super::replay::{EVENT, Event};

impl Context {
    /// Reads what was logged, where nothing may be written. Nothing is taken from the last entry if
    /// its block was interrupted in the middle: it is not known which of its words are there.
    pub fn drain_but(&mut self, interrupted: bool) {
        let (top, bottom) = (self.log_top(), self.log);
        let Engine { sections, blocks, .. } = self.engine();
        // SAFETY: the log of this context, made by its blocks.
        unsafe { sections.replay(blocks, (top, bottom), interrupted, None) };
        self.empty_log();
    }

    /// Logs an event.
    pub fn happened(&mut self, event: Event) {
        // The code that says so may be changing what is kept for the thread.
        if !self.has_room() {
            self.drain_but(false);
        }
        let events = &mut self.engine().sections.events;
        events.push(event);
        let place = events.len() as u64 - 1;
        self.log -= 16;
        // SAFETY: the log is this context's, and has room.
        unsafe {
            (self.log as *mut u64).write(place);
            (self.log as *mut u64).add(1).write(u64::from(EVENT));
        }
    }
}
