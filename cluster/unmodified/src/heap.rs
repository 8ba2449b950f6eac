//! `malloc` and its relatives, and `mmap`: what the program allocates is global memory.
//!
//! A block begins with its size, so that another rank can free it. The C library's allocator serves
//! this library's own code, the loader, and the libraries' constructors.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{EINVAL, ENOMEM, off_t};
use syncline_interpose::entry;

use crate::allocator::{
    __libc_calloc, __libc_free, __libc_malloc, __libc_memalign, __libc_realloc,
};
use crate::fail::{refuse, say};
use crate::gate::{in_program, ours};
use crate::image;
use crate::words::program;

/// What is in front of a block: the bytes that were allocated with it, and where they begin.
#[repr(C)]
struct Header {
    bytes: usize,
    from: usize,
}

thread_local! {
    /// Whether the C library allocates for itself, in the program's code.
    static IS_LIBRARYS: Cell<bool> = const { Cell::new(false) };
}

/// Whether it was said that there is too little memory.
static SAID: AtomicBool = AtomicBool::new(false);

const HEADER: usize = size_of::<Header>();
const PAGE: usize = 4096;

/// Whether a block for this caller is global. `from` is where the caller's return address lies.
fn is_programs(from: *const usize) -> bool {
    image::ensure();
    // SAFETY: the entries pass the stack pointer at the call.
    let caller = || unsafe { *from };
    image::constructs() || in_program() && !IS_LIBRARYS.get() && !image::is_loader(caller())
}

/// Sets the program's locale. A new thread of the C library reads it while all signals are blocked,
/// so that no page fault could be served: what this function allocates is not global.
///
/// # Safety
/// Same requirements as C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn setlocale(kind: c_int, name: *const c_char) -> *mut c_char {
    syncline_interpose::real! {
        fn setlocale(kind: c_int, name: *const c_char) -> *mut c_char;
    }
    let before = IS_LIBRARYS.replace(true);
    // SAFETY: the caller's own call.
    let result = unsafe { setlocale(kind, name) };
    IS_LIBRARYS.set(before);
    result
}

fn set_errno(error: c_int) {
    // SAFETY: this thread's `errno`.
    unsafe { *libc::__errno_location() = error };
}

/// A global block, at a multiple of `align`, which is a power of two and at least 16. Null if there
/// is no memory left.
fn global(bytes: usize, align: usize) -> *mut c_void {
    let Some(all) = bytes.checked_add(HEADER + align - 16).filter(|all| *all < isize::MAX as usize)
    else {
        set_errno(ENOMEM);
        return null_mut();
    };
    let from = if image::constructs() {
        image::early(all)
    } else {
        ours(|| match program().memory.allocate(all) {
            Ok(block) => block.addr().get(),
            Err(error) => {
                if !SAID.swap(true, Relaxed) {
                    say(&[error.to_string().as_bytes()]);
                }
                0
            }
        })
    };
    if from == 0 {
        set_errno(ENOMEM);
        return null_mut();
    }
    let at = (from + HEADER).next_multiple_of(align);
    let header = without_provenance_mut::<Header>(at - HEADER);
    // SAFETY: within the block that was allocated.
    unsafe { header.write(Header { bytes: all, from }) };
    without_provenance_mut(at)
}

/// The header of a global block.
///
/// # Safety
///
/// The block is one of `global`.
unsafe fn header(block: *mut c_void) -> Header {
    // SAFETY: by our caller's word.
    unsafe { block.cast::<Header>().sub(1).read() }
}

/// The bytes that a global block has room for.
///
/// # Safety
///
/// The block is one of `global`.
unsafe fn room(block: *mut c_void) -> usize {
    // SAFETY: by our caller's word.
    let header = unsafe { header(block) };
    header.from + header.bytes - block.addr()
}

unsafe fn free_global(block: *mut c_void) {
    if image::is_early(block.addr()) {
        return;
    }
    // SAFETY: by our caller's word, it is a block of `global` that is used no more.
    let Header { bytes, from } = unsafe { header(block) };
    if let Some(from) = NonNull::new(without_provenance_mut(from)) {
        // SAFETY: as above.
        ours(|| unsafe { program().memory.free(from, bytes) });
    }
}

mod imp {
    use super::*;

    pub unsafe extern "C-unwind" fn malloc(bytes: usize, from: *const usize) -> *mut c_void {
        if is_programs(from) {
            return global(bytes, 16);
        }
        // SAFETY: the caller's own call.
        unsafe { __libc_malloc(bytes) }
    }

    pub unsafe extern "C-unwind" fn calloc(
        count: usize,
        bytes: usize,
        from: *const usize,
    ) -> *mut c_void {
        if !is_programs(from) {
            // SAFETY: the caller's own call.
            return unsafe { __libc_calloc(count, bytes) };
        }
        let Some(bytes) = count.checked_mul(bytes) else {
            set_errno(ENOMEM);
            return null_mut();
        };
        let block = global(bytes, 16);
        if !block.is_null() {
            // SAFETY: a block of this size.
            unsafe { block.write_bytes(0, bytes) };
        }
        block
    }

    pub unsafe extern "C-unwind" fn realloc(
        block: *mut c_void,
        bytes: usize,
        from: *const usize,
    ) -> *mut c_void {
        // SAFETY: the caller's own call; a global block is copied to another one.
        unsafe {
            match () {
                () if block.is_null() => malloc(bytes, from),
                () if !image::is_global(block.addr()) => __libc_realloc(block, bytes),
                () if bytes == 0 => {
                    free_global(block);
                    null_mut()
                }
                () if bytes <= room(block) => block,
                () => {
                    let new = global(bytes, 16);
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(block, room(block));
                        free_global(block);
                    }
                    new
                }
            }
        }
    }

    pub unsafe extern "C-unwind" fn memalign(
        align: usize,
        bytes: usize,
        from: *const usize,
    ) -> *mut c_void {
        if is_programs(from) {
            return global(bytes, align.next_power_of_two().max(16));
        }
        // SAFETY: the caller's own call.
        unsafe { __libc_memalign(align, bytes) }
    }
}

entry! {
    fn malloc(bytes: usize) -> *mut c_void;
    fn calloc(count: usize, bytes: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn memalign(align: usize, bytes: usize) -> *mut c_void;
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn aligned_alloc(align: usize, bytes: usize) -> *mut c_void {
    // SAFETY: the caller's own call.
    unsafe { memalign(align, bytes) }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn posix_memalign(
    block: *mut *mut c_void,
    align: usize,
    bytes: usize,
) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    // SAFETY: the caller's own call.
    unsafe {
        let new = memalign(align, bytes);
        if new.is_null() {
            return ENOMEM;
        }
        *block = new;
    }
    0
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn free(block: *mut c_void) {
    // SAFETY: the caller's own call.
    unsafe {
        match image::is_global(block.addr()) {
            true => free_global(block),
            false => __libc_free(block),
        }
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn malloc_usable_size(block: *mut c_void) -> usize {
    syncline_interpose::real! { fn malloc_usable_size(block: *mut c_void) -> usize; }
    // SAFETY: the caller's own call.
    unsafe {
        match image::is_global(block.addr()) {
            true => room(block),
            false => malloc_usable_size(block),
        }
    }
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mmap(
    at: *mut c_void,
    bytes: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    syncline_interpose::real! {
        fn mmap(at: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, offset: off_t) -> *mut c_void;
    }
    if !in_program() {
        // SAFETY: the caller's own call.
        return unsafe { mmap(at, bytes, access, flags, file, offset) };
    }
    if flags & libc::MAP_FIXED != 0 {
        refuse("mmap with MAP_FIXED");
    }
    let is_file = flags & libc::MAP_ANONYMOUS == 0;
    if is_file && flags & libc::MAP_SHARED != 0 && access & libc::PROT_WRITE != 0 {
        refuse("mmap of a file that it writes to");
    }
    let block = global(bytes.next_multiple_of(PAGE), PAGE);
    if block.is_null() {
        return libc::MAP_FAILED;
    }
    // SAFETY: a block of this size, which gets the file's bytes. What a file lacks stays zero.
    unsafe {
        block.write_bytes(0, bytes.next_multiple_of(PAGE));
        let mut done = 0;
        while is_file && done < bytes {
            let read =
                libc::pread(file, block.byte_add(done), bytes - done, offset + done as off_t);
            match read {
                0 => break,
                _ if read < 0 => {
                    free_global(block);
                    return libc::MAP_FAILED;
                }
                _ => done += read as usize,
            }
        }
    }
    block
}

/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mmap64(
    at: *mut c_void,
    bytes: usize,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: the caller's own call.
    unsafe { mmap(at, bytes, access, flags, file, offset) }
}

/// Frees a block of `mmap` as a whole. A part of a block stays.
///
/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn munmap(block: *mut c_void, bytes: usize) -> c_int {
    syncline_interpose::real! { fn munmap(block: *mut c_void, bytes: usize) -> c_int; }
    // SAFETY: the caller's own call; a whole block of `mmap` has a page in front of it.
    unsafe {
        if !image::is_global(block.addr()) {
            return munmap(block, bytes);
        }
        let whole = bytes.next_multiple_of(PAGE) + HEADER + PAGE - 16;
        let header = header(block);
        if header.bytes == whole && (header.from + HEADER).next_multiple_of(PAGE) == block.addr() {
            free_global(block);
        }
    }
    0
}

/// Global memory can't be protected: the call succeeds, and does nothing.
///
/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mprotect(block: *mut c_void, bytes: usize, access: c_int) -> c_int {
    syncline_interpose::real! {
        fn mprotect(block: *mut c_void, bytes: usize, access: c_int) -> c_int;
    }
    if in_program() && image::is_global(block.addr()) {
        return 0;
    }
    // SAFETY: the caller's own call.
    unsafe { mprotect(block, bytes, access) }
}

/// Of the advice about global memory, only `MADV_DONTNEED` has an effect: the bytes are zero.
///
/// # Safety
/// Same requirements as the C library's function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn madvise(block: *mut c_void, bytes: usize, advice: c_int) -> c_int {
    syncline_interpose::real! {
        fn madvise(block: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    }
    // SAFETY: the caller's own call.
    unsafe {
        if !in_program() || !image::is_global(block.addr()) {
            return madvise(block, bytes, advice);
        }
        if advice == libc::MADV_DONTNEED {
            block.write_bytes(0, bytes);
        }
    }
    0
}
