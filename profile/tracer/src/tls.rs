//! Words of thread-local storage.

use core::arch::asm;

use syncline_interpose::thread_words;

thread_words! {
    "syncline_inspect_thread" of 1088 bytes;
    /// The address of the context in which this thread is traced; 0 when it is not.
    context, set_context at 0: usize;
    /// The address of this thread's state; 0 before its first acquisition, 1 while the state is made.
    thread, set_thread at 8: usize;
    /// Unused: the words of `heap` are in a block of their own (`heap/words.rs`).
    heap, set_heap at 16: usize;
    /// The lock whose hold is being measured; 0 if none is.
    timed, set_timed at 24: usize;
}

/// For assembly: the offsets of the words of [`context`] and [`timed`], and of the call sites.
pub const CONTEXT: usize = 0;
/// See [`CONTEXT`].
pub const TIMED: usize = 24;
/// See [`CONTEXT`].
pub const SITES: usize = 64;
/// Bytes of the call sites.
pub const SITES_BYTES: usize = 1024;

const _: () = assert!(SITES + SITES_BYTES == 1088);

/// The [`SITES_BYTES`] bytes in which `thread::often` keeps the call sites at which this thread
/// acquires often.
pub fn sites() -> *mut u8 {
    let offset: u64;
    // SAFETY: reads the offset of this thread's words from the global offset table.
    unsafe {
        asm!(
            "mov {}, qword ptr [rip + syncline_inspect_thread@GOTTPOFF]",
            out(reg) offset,
            options(nostack, preserves_flags, readonly),
        );
    }
    (fs_base().wrapping_add(offset) as usize + SITES) as *mut u8
}

/// The thread's FS base.
pub fn fs_base() -> u64 {
    let base: u64;
    // SAFETY: the first word of a glibc thread's control block, at FS offset 0, is the block's own
    // address.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly));
    }
    base
}
