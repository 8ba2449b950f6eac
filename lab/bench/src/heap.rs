//! Counts the bytes that Rust code in this process has allocated and not yet freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use syncline::memory::Padded;

/// The number of counters. Each thread takes the next counter in turn when it first allocates. So
/// only few threads share a counter, since sharing disturbs the measurement.
const NUMBERS: usize = 64;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
/// Bytes allocated minus bytes freed, in each counter. A counter may wrap around, since threads
/// free memory that others have allocated; the sum of all counters is right.
static IN_USE: [Padded<AtomicUsize>; NUMBERS] = [const { Padded(AtomicUsize::new(0)) }; NUMBERS];
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// This thread's counter, or the first counter for a thread that is about to end.
fn own_counter() -> &'static AtomicUsize {
    let number = NUMBER.try_with(|number| {
        if number.get() == usize::MAX {
            number.set(THREADS.fetch_add(1, Relaxed) % NUMBERS);
        }
        number.get()
    });
    &IN_USE[number.unwrap_or(0)]
}

/// The bytes that are in use now.
pub fn in_use() -> usize {
    IN_USE.iter().fold(0, |sum, number| sum.wrapping_add(number.load(Relaxed)))
}

// SAFETY: each function calls the system's allocator, and otherwise only updates a counter.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        own_counter().fetch_add(layout.size(), Relaxed);
        // SAFETY: our caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        own_counter().fetch_add(layout.size(), Relaxed);
        // SAFETY: our caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        own_counter().fetch_sub(layout.size(), Relaxed);
        // SAFETY: our caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}
