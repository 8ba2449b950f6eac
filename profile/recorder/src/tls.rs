//! Words that each thread has of its own.

use syncline_interpose::thread_words;

thread_words! {
    "syncline_thread" of 48 bytes;
    /// The address of the thread's state; 0 before its first operation.
    state_address, set_state_address at 0: usize;
    /// The highest address of the thread's stack; 0 if it is unknown so far.
    stack_high, set_stack_high at 8: usize;
    /// The lowest address that the stack may reach.
    stack_low, set_stack_low at 16: usize;
    /// 1 after the thread has run its last destructor, or found no room in the file. From then on
    /// the thread counts nothing.
    finished, set_finished at 24: usize;
    /// 1 inside a function of an OpenMP runtime, which may call another interposed one.
    in_openmp, set_in_openmp at 32: usize;
}

/// The result of the C library's `pthread_self`: the thread pointer.
pub fn pthread_self() -> usize {
    let own: usize;
    // SAFETY: on x86-64 the first word at the thread pointer is its own address.
    unsafe {
        core::arch::asm!(
            "mov {own}, qword ptr fs:[0]",
            own = out(reg) own,
            options(nostack, preserves_flags, readonly),
        );
    }
    own
}
