//! Memory for many blocks, on large pages if the memory is large.
//!
//! Accesses go to blocks anywhere in a row. So in a large table nearly every access misses the TLB.
//! Looking up the translation then costs about as much as the access, and more in a virtual
//! machine. Linux maps pages of 2 MiB if asked to, and the translations of large tables then fit
//! into the TLB. On other systems, or if Linux refuses, everything works with small pages.
//!
//! Large memory comes from the kernel, which zeroes each page at its first access. Zeroing the
//! memory here would do the work twice.

use std::alloc::Layout;

/// The bytes of a large page on x86-64, and on other processors with small pages of 4 KiB.
const LARGE: usize = 2 << 20;

/// Allocates zeroed memory. Returns null if there is none.
///
/// # Safety
///
/// The layout's size is not zero.
pub(super) unsafe fn allocate(layout: Layout) -> *mut u8 {
    match layout.size() {
        // SAFETY: our caller's promise.
        0..LARGE => unsafe { std::alloc::alloc_zeroed(layout) },
        size => large::allocate(size, layout),
    }
}

/// Frees memory that was allocated here.
///
/// # Safety
///
/// The memory comes from [`allocate`] with this layout, and no thread uses it any more.
pub(super) unsafe fn free(memory: *mut u8, layout: Layout) {
    match layout.size() {
        // SAFETY: our caller's promise.
        0..LARGE => unsafe { std::alloc::dealloc(memory, layout) },
        // SAFETY: likewise.
        size => unsafe { large::free(memory, size, layout) },
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod large {
    use std::alloc::Layout;
    use std::ptr;

    use super::LARGE;

    /// Maps memory that begins at a large page. The rest of its last large page belongs to the
    /// table too.
    pub(super) fn allocate(size: usize, _: Layout) -> *mut u8 {
        let size = size.next_multiple_of(LARGE);
        // The room is one large page larger, so that the memory can begin at a large page.
        let Some(room) = size.checked_add(LARGE) else { return ptr::null_mut() };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, wherever there is some.
        let start = unsafe { libc::mmap(ptr::null_mut(), room, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        let before = start.align_offset(LARGE);
        let memory = start.wrapping_byte_add(before);
        // SAFETY: parts of what was just mapped, in whole pages. If the kernel ignores the advice,
        // nothing changes.
        unsafe {
            if before > 0 {
                libc::munmap(start, before);
            }
            libc::munmap(memory.byte_add(size), LARGE - before);
            libc::madvise(memory, size, libc::MADV_HUGEPAGE);
        }
        memory.cast()
    }

    /// # Safety
    ///
    /// Same requirements as [`free`](super::free).
    pub(super) unsafe fn free(memory: *mut u8, size: usize, _: Layout) {
        // SAFETY: our caller's promise; this much was mapped.
        unsafe { libc::munmap(memory.cast(), size.next_multiple_of(LARGE)) };
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod large {
    use std::alloc::Layout;

    pub(super) fn allocate(_: usize, layout: Layout) -> *mut u8 {
        // SAFETY: the size is not zero.
        unsafe { std::alloc::alloc_zeroed(layout) }
    }

    /// # Safety
    ///
    /// Same requirements as [`free`](super::free).
    pub(super) unsafe fn free(memory: *mut u8, _: usize, layout: Layout) {
        // SAFETY: our caller's promise.
        unsafe { std::alloc::dealloc(memory, layout) }
    }
}
