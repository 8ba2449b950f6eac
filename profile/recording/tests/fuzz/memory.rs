//! Counts the memory that a thread has allocated, and finds the maximum since the count began.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(bytes: isize) {
    NOW.set(NOW.get() + bytes);
    MOST.set(MOST.get().max(NOW.get()));
}

// SAFETY: the system's allocator does the work, and the counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller's own promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: the caller's own promise.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Begins the count at 0.
pub fn start() {
    NOW.set(0);
    MOST.set(0);
}

/// The most bytes that were allocated at one time since [`start`].
pub fn most() -> usize {
    MOST.get().max(0) as usize
}
