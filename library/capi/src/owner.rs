//! Which thread holds a lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    // Without a destructor, so that it can be read until the thread's last moment.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// The number of this thread, never 0, and never that of a thread that has ended.
#[inline]
pub(crate) fn this_thread() -> usize {
    match NUMBER.get() {
        0 => first_call(),
        number => number,
    }
}

#[cold]
fn first_call() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: the numbers only have to differ.
    let number = THREADS.fetch_add(1, Relaxed) + 1;
    NUMBER.set(number);
    number
}

/// The thread that holds a lock, if any.
#[derive(Default)]
#[repr(transparent)]
pub(crate) struct Owner(AtomicUsize);

// Relaxed throughout: a thread compares only with its own number, which no other thread writes.
impl Owner {
    /// Whether the thread with this number holds the lock.
    #[inline]
    pub(crate) fn is(&self, thread: usize) -> bool {
        self.0.load(Relaxed) == thread
    }

    /// Whether any thread holds the lock. Outdated at once, unless this thread does.
    #[inline]
    pub(crate) fn is_somebody(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// Records that the thread with this number holds the lock.
    #[inline]
    pub(crate) fn set(&self, thread: usize) {
        self.0.store(thread, Relaxed);
    }

    /// Records that no thread holds the lock.
    #[inline]
    pub(crate) fn clear(&self) {
        self.0.store(0, Relaxed);
    }
}
