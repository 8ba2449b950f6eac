//! The stacks of simulated threads.

use std::cell::RefCell;

use corosensei::stack::{DefaultStack, Stack, StackPointer};

use crate::line::ThreadId;

/// The size of a simulated thread's stack in bytes.
const STACK: usize = 128 * 1024;

/// The size of a page in bytes.
const PAGE: usize = 4096;

/// The stack of each thread begins this many bytes farther from the end of its page than the stack
/// of the thread before. This is an odd number of lines, so the stacks of 64 threads begin at all
/// 64 lines of a page.
const APART: usize = 5 * 64;

thread_local! {
    /// The stacks of finished simulations. They are reused, since a new stack costs system calls
    /// and page faults.
    static USED: RefCell<Vec<ThreadStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack whose offset in its page differs from that of other threads' stacks. The offset
/// determines in which set of a first-level cache a line is. If all stacks had the same offset, the
/// frames that switches of threads use would compete for a few sets, and evict each other.
pub struct ThreadStack {
    stack: DefaultStack,
    base: StackPointer,
}

impl ThreadStack {
    /// A stack for a thread.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub fn new(thread: ThreadId) -> ThreadStack {
        let used = USED.with_borrow_mut(Vec::pop).map(|used| used.stack);
        let stack = used.unwrap_or_else(|| {
            DefaultStack::new(STACK + PAGE).expect("there is memory for a thread's stack")
        });
        let base = stack.base().get() - thread as usize * APART % PAGE;
        let base = StackPointer::new(base).expect("no stack is at address 0");
        ThreadStack { stack, base }
    }

    /// Keeps the stack of a thread that is done for later simulations.
    pub fn keep(self) {
        USED.with_borrow_mut(|used| used.push(self));
    }
}

// SAFETY: `base` and `limit` are within one stack that `DefaultStack` allocated, with its guard
// page. `APART` keeps the base aligned, and at least `STACK` bytes are left below it.
unsafe impl Stack for ThreadStack {
    #[inline]
    fn base(&self) -> StackPointer {
        self.base
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stacks_of_64_threads_begin_at_64_lines_of_a_page() {
        let stacks: Vec<ThreadStack> = (0..64).map(ThreadStack::new).collect();
        let mut begin: Vec<usize> = stacks.iter().map(|s| s.base.get() % PAGE).collect();
        begin.sort_unstable();
        assert!(begin.iter().copied().eq((0..PAGE).step_by(64)));
        assert!(stacks.iter().all(|s| s.base.get() - s.limit().get() >= STACK));
    }

    #[test]
    fn a_kept_stack_is_used_again_by_any_thread() {
        let stack = ThreadStack::new(3);
        let (limit, base) = (stack.limit(), stack.base().get());
        stack.keep();
        let again = ThreadStack::new(4);
        assert_eq!((again.limit(), again.base().get()), (limit, base - APART));
    }
}
