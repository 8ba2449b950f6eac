//! The bounds of a thread's stack, and whether the thread has come back to it from the engine's
//! stack.

use core::ptr::null_mut;

use super::state::Thread;
use crate::aside;
use crate::engine::context::Context;
use crate::files::mapping_around;

impl Thread {
    /// Finds out the bounds of the stack that the thread runs on, unless they are known; `pointer`
    /// is its stack pointer.
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

    /// Keeps a context in which tracing has stopped from being lent to another thread. This thread
    /// has yet to leave it, for which it needs the context's stack and saved registers.
    pub fn retire(&mut self, context: &mut Context) {
        self.give_back_context();
        self.retired = context;
    }

    /// Gives a retired context back if `pointer`, the stack pointer at an acquisition, is on the
    /// thread's own stack. If it is on another stack, such as the context's, the acquisition may be
    /// that of a signal handler which interrupted the thread before it had left the context.
    #[inline]
    pub fn has_left(&mut self, pointer: u64) {
        if !self.retired.is_null() && self.is_on_stack(pointer) {
            self.give_back_context();
        }
    }

    pub(super) fn give_back_context(&mut self) {
        // SAFETY: the pointer is null or that of a context. Contexts stay mapped, and this one is
        // lent to this thread.
        if let Some(context) = unsafe { self.retired.as_mut() } {
            context.give_back();
            self.retired = null_mut();
        }
    }
}
