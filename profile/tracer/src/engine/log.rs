//! Logs events that happen between two blocks, and reads the log.

use super::Engine;
use super::context::Context;
use super::replay::{EVENT, Event};

impl Context {
    /// Reads the log at times when no section may be written to the trace. The last entry is
    /// ignored if its block was `interrupted`, since it is unknown which words of the entry have
    /// been stored.
    pub fn drain_but(&mut self, interrupted: bool) {
        let (top, bottom) = (self.log_top(), self.log);
        let Engine { sections, blocks, .. } = self.engine();
        // SAFETY: the log of this context, made by its blocks.
        unsafe { sections.replay(blocks, (top, bottom), interrupted, None) };
        self.empty_log();
    }

    /// Logs an event.
    pub fn happened(&mut self, event: Event) {
        // Sections are not written here, since the caller may be changing the thread's state.
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
