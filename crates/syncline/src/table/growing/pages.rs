//! Memory for many buckets: where it is large, on large pages.
//!
//! A key's bucket is anywhere in a table. So in a large one nearly each access needs a translation
//! of its address that the processor doesn't have at hand, and looking it up costs about as much
//! as the access; in a virtual machine more. Linux maps 2 MiB at once where it is asked to, and the
//! translations of large tables then fit. Where it isn't Linux, or says no, all works as before.

use std::alloc::{Layout, alloc, alloc_zeroed};
use std::ptr;

/// A large page of x86-64, and of others with small pages of 4 KiB.
const LARGE: usize = 2 << 20;

/// The layout to allocate with, and to give back with: memory of a large page or more begins at
/// one.
pub(super) fn layout(layout: Layout) -> Layout {
    match layout.size() {
        0..LARGE => layout,
        _ => layout.align_to(LARGE).unwrap_or(layout),
    }
}

/// Allocates zeros; null if there is no memory.
///
/// # Safety
///
/// The layout is one of [`layout`], and its size is not zero.
pub(super) unsafe fn allocate(layout: Layout) -> *mut u8 {
    if layout.align() < LARGE {
        // SAFETY: our caller's promise.
        return unsafe { alloc_zeroed(layout) };
    }
    // SAFETY: our caller's promise.
    let memory = unsafe { alloc(layout) };
    if !memory.is_null() {
        ask_for_large_pages(memory, layout.size());
        // SAFETY: it was just allocated.
        unsafe { ptr::write_bytes(memory, 0, layout.size()) };
    }
    memory
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages(memory: *mut u8, bytes: usize) {
    // SAFETY: whole large pages of ours. It is advice: nothing is to be done if it fails.
    unsafe { libc::madvise(memory.cast(), bytes & !(LARGE - 1), libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: *mut u8, _: usize) {}
