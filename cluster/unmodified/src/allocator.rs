//! This library's own memory comes from the C library's allocator, under its second names: `malloc`
//! is the program's, and may give global memory.

use std::alloc::{GlobalAlloc, Layout};

use libc::c_void;

unsafe extern "C" {
    pub fn __libc_malloc(bytes: usize) -> *mut c_void;
    pub fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    pub fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    pub fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    pub fn __libc_free(block: *mut c_void);
}

struct Own;

// SAFETY: the C library's allocator, with the alignment that is asked for.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two.
        unsafe { __libc_memalign(layout.align().max(16), layout.size()).cast() }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: a block of `alloc`.
        unsafe { __libc_free(block.cast()) }
    }
}

#[global_allocator]
static OWN: Own = Own;
