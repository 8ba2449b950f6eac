//! Lines for queue nodes. Each thread keeps those that it was given back, and takes from there;
//! what it keeps at its end goes to all.

use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::cells::Cells;
use syncline_interpose::{create_key, fail, set_value};

use crate::tls::{ENDED, NOTICED, lines, set_lines, set_stage, stage};

/// Lines that a thread keeps.
const KEPT: usize = 64;

static LINES: Cells = Cells::new(u32::MAX);

/// The key by which ends of threads are noticed, plus 1; 0 if there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// A line that a thread keeps.
struct Line {
    next: usize,
    length: usize,
}

/// Makes the key, if there is one to be had whose values take no allocation.
pub(super) fn prepare() {
    if let Some(key) = create_key(thread_ends) {
        // Relaxed: who sees no key yet keeps nothing.
        KEY.store(key + 1, Relaxed);
    }
}

#[inline]
pub(super) fn take() -> NonNull<u8> {
    match NonNull::new(lines() as *mut Line) {
        Some(line) => {
            // SAFETY: what the thread keeps was written by `give`.
            set_lines(unsafe { line.as_ref() }.next);
            line.cast()
        }
        None => take_from_all(),
    }
}

#[cold]
fn take_from_all() -> NonNull<u8> {
    LINES.take(1).unwrap_or_else(|| fail(&[b"no memory for the queues of locks"]))
}

/// # Safety
///
/// The line comes from [`take`], and nobody uses it any more.
#[inline]
pub(super) unsafe fn give(line: NonNull<u8>) {
    if stage() != NOTICED && !notice_end() {
        // SAFETY: our caller's promise.
        return unsafe { LINES.give(line) };
    }
    let next = lines();
    // SAFETY: what the thread keeps was written here.
    let length = NonNull::new(next as *mut Line).map_or(0, |next| unsafe { next.as_ref() }.length);
    if length >= KEPT {
        // SAFETY: our caller's promise.
        return unsafe { LINES.give(line) };
    }
    // SAFETY: the line is ours, and large enough.
    unsafe { line.cast().write(Line { next, length: length + 1 }) };
    set_lines(line.addr().get());
}

/// Sees to it that `thread_ends` runs, and says whether it will.
#[cold]
fn notice_end() -> bool {
    // Relaxed: see `prepare`.
    let key = KEY.load(Relaxed);
    if stage() == ENDED || key == 0 {
        return false;
    }
    // Before the call, since that may come back here.
    set_stage(NOTICED);
    let value = (&raw const KEY).cast();
    // SAFETY: `thread_ends` takes any value.
    unsafe { set_value(key - 1, value) }
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    set_stage(ENDED);
    while let Some(line) = NonNull::new(lines() as *mut Line) {
        // SAFETY: what the thread keeps is its own, and was written by `give`.
        unsafe {
            set_lines(line.as_ref().next);
            LINES.give(line.cast());
        }
    }
    debug_assert_eq!(lines() as *mut c_void, null_mut());
}
