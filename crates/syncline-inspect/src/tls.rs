//! The thread's own words.

use core::arch::asm;

use syncline_interpose::thread_words;

thread_words! {
    "syncline_inspect_thread" of 48 bytes;
    /// The address of the context in which this thread is traced; 0 when it is not.
    context, set_context at 0: usize;
    /// The address of what is kept for this thread; 0 before its first acquisition.
    thread, set_thread at 8: usize;
    /// What `heap` keeps for the thread.
    heap, set_heap at 16: usize;
}

/// The thread's base for `fs`.
pub fn fs_base() -> u64 {
    let base: u64;
    // SAFETY: the first word of a glibc thread's own block is its address.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly));
    }
    base
}
