//! Words of thread-local storage.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use syncline_interpose::thread_words;

thread_words! {
    "syncline_replace_thread" of 32 bytes;
    /// The value of [`this_thread`]; 0 if the thread has none yet.
    number, set_number at 0: usize;
    /// The first of the thread's free lines; 0 if there is none.
    lines, set_lines at 8: usize;
    /// Whether the thread's end will be noticed ([`NOTICED`]), or has been ([`ENDED`]).
    stage, set_stage at 16: usize;
    /// 1 while the thread chooses an object's lock by a policy; otherwise 0.
    deciding, set_deciding at 24: usize;
}

/// The thread's end will be noticed.
pub const NOTICED: usize = 1;
/// The thread has ended as far as this library knows; other libraries' destructors may still run.
pub const ENDED: usize = 2;

/// The number of this thread, which is not 0, and which no other thread of the process has or had.
/// The only thread of a forked child keeps the number of the thread that forked.
#[inline(always)]
pub fn this_thread() -> u32 {
    let number = number() as u32;
    if number != 0 { number } else { new_number() }
}

#[cold]
fn new_number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    // Relaxed: the numbers only have to be different.
    let number = LAST.fetch_add(1, Relaxed) + 1;
    set_number(number as usize);
    number
}
