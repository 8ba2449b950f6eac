//! Lines for queue nodes. Each thread keeps the lines that it frees, and reuses them. When the
//! thread ends, its lines go to a list for all threads.

use core::ffi::c_void;
use core::ptr::NonNull;

use syncline_interpose::fail;

use super::cells::Cells;
use super::{arena, ends};
use crate::tls::{lines, set_lines};

/// The most lines that a thread keeps.
const KEPT: usize = 64;

static LINES: Cells = Cells::new(u32::MAX);

syncline_interpose::thread_ends!(ENDS, thread_ends);

/// Makes the key by which ends of threads are noticed, early in the program, when keys are still
/// free.
pub(super) fn prepare() {
    ENDS.prepare();
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    ends::noticed();
    give_all();
}

/// A line that a thread keeps, as an element of the thread's list.
struct Line {
    next: usize,
    length: usize,
}

#[inline]
pub(super) fn take() -> NonNull<u8> {
    match NonNull::new(lines() as *mut Line) {
        Some(line) => {
            // SAFETY: the lines that the thread keeps were written by `give`.
            set_lines(unsafe { line.as_ref() }.next);
            line.cast()
        }
        None => take_from_all(),
    }
}

#[cold]
fn take_from_all() -> NonNull<u8> {
    let line = LINES.take(1).or_else(arena::cut_kept);
    line.unwrap_or_else(|| fail(&[b"no memory for the queues of locks"]))
}

/// # Safety
///
/// The line comes from [`take`], and no thread uses it any more.
#[inline]
pub(super) unsafe fn give(line: NonNull<u8>) {
    if !ends::is_noticed(&ENDS) {
        give_all();
        // SAFETY: our caller's promise.
        return unsafe { LINES.give(line) };
    }
    let next = lines();
    // SAFETY: the lines that the thread keeps were written by this function.
    let length = NonNull::new(next as *mut Line).map_or(0, |next| unsafe { next.as_ref() }.length);
    if length >= KEPT {
        // SAFETY: our caller's promise.
        return unsafe { LINES.give(line) };
    }
    // SAFETY: the line belongs to this thread, and is large enough.
    unsafe { line.cast().write(Line { next, length: length + 1 }) };
    set_lines(line.addr().get());
}

/// Gives the lines that the thread keeps to the list for all threads.
fn give_all() {
    while let Some(line) = NonNull::new(lines() as *mut Line) {
        // SAFETY: the lines that the thread keeps are its own, and were written by `give`.
        unsafe {
            set_lines(line.as_ref().next);
            LINES.give(line.cast());
        }
    }
}
