//! The bounds of a thread's stack, and whether the thread is back on it from the engine's.

use core::ptr::null_mut;

use super::state::Thread;
use crate::aside;
use crate::engine::context::Context;
use crate::files::mapping_around;

impl Thread {
    /// Learns the bounds of the stack that the thread runs on.
    pub fn learn_stack(&mut self, pointer: u64) {
        if self.is_on_stack(pointer) {
            return;
        }
        let first = self.stack == (0, 0);
        let found = aside::work(|| mapping_around(pointer)).flatten();
        self.stack = found.unwrap_or((pointer, pointer));
        if first {
            self.writer.set_stack(self.stack.0..self.stack.1);
        }
    }

    /// Whether an address lies within the known bounds of the stack.
    fn is_on_stack(&self, pointer: u64) -> bool {
        pointer.wrapping_sub(self.stack.0) < self.stack.1 - self.stack.0
    }

    /// Withholds a context in which tracing has stopped from other threads: this thread has yet to
    /// leave it, and uses its stack and its saved registers for that.
    pub fn retire(&mut self, context: &mut Context) {
        self.give_back_context();
        self.retired = context;
    }

    /// Gives a retired context back when the program next locks on the thread's own stack. On
    /// another stack, such as the context's, the caller may be a signal handler that interrupted
    /// the thread before it had left the context.
    #[inline]
    pub fn has_left(&mut self, pointer: u64) {
        if !self.retired.is_null() && self.is_on_stack(pointer) {
            self.give_back_context();
        }
    }

    pub(super) fn give_back_context(&mut self) {
        // SAFETY: contexts stay mapped, and this one is lent to this thread.
        if let Some(context) = unsafe { self.retired.as_mut() } {
            context.give_back();
            self.retired = null_mut();
        }
    }
}
