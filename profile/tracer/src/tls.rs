//! The library's words of thread-local storage.

use core::arch::asm;

use syncline_interpose::thread_words;

thread_words! {
    "syncline_inspect_thread" of 1088 bytes;
    /// The address of the context in which this thread is being traced; 0 while it is not traced.
    context, set_context at 0: usize;
    /// The address of this thread's state; 0 before its first acquisition, 1 while the state is
    /// being made.
    thread, set_thread at 8: usize;
    /// Unused. The words of the module `heap` are in a block of their own (`heap/words.rs`).
    heap, set_heap at 16: usize;
    /// The address of the lock whose hold is being measured; 0 if none is.
    timed, set_timed at 24: usize;
}

/// The offset of the word of [`context`], for assembly.
pub const CONTEXT: usize = 0;
/// The offset of the word of [`timed`], for assembly.
pub const TIMED: usize = 24;
/// The offset of the call sites, for assembly.
pub const SITES: usize = 64;
/// The number of bytes in which the call sites are kept.
pub const SITES_BYTES: usize = 1024;

const _: () = assert!(SITES + SITES_BYTES == 1088);

/// The [`SITES_BYTES`] bytes in which `thread::often` keeps this thread's call sites.
pub fn sites() -> *mut u8 {
    let offset: u64;
    // SAFETY: the instruction only reads the offset of this thread's words from the global offset
    // table.
    unsafe {
        asm!(
            "mov {}, qword ptr [rip + syncline_inspect_thread@GOTTPOFF]",
            out(reg) offset,
            options(nostack, preserves_flags, readonly),
        );
    }
    (fs_base().wrapping_add(offset) as usize + SITES) as *mut u8
}

/// The FS base of the calling thread.
pub fn fs_base() -> u64 {
    let base: u64;
    // SAFETY: the instruction only reads the word at FS offset 0. In glibc, that is the first word
    // of the thread's control block, which contains the block's own address, the FS base.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly));
    }
    base
}
