//! Whether the process has only one thread, according to the C library.

use core::ffi::c_char;
use core::ptr::from_ref;
use core::sync::atomic::{AtomicPtr, Ordering};

use syncline_interpose::definition;

/// Used with an older C library, which does not have the variable. Its value never says "single".
static UNKNOWN: c_char = 0;
/// The C library's variable `__libc_single_threaded` (since 2.32), or [`UNKNOWN`]. Only read.
///
/// Relaxed: either address may be read at any time, and nothing else is published with it.
static VARIABLE: AtomicPtr<c_char> = AtomicPtr::new(from_ref(&UNKNOWN).cast_mut());

/// Looks up the variable.
pub fn look_up() {
    let variable = definition(c"__libc_single_threaded").cast::<c_char>();
    if !variable.is_null() {
        VARIABLE.store(variable, Ordering::Relaxed);
    }
}

/// Whether no other thread can run until the calling one creates one.
#[inline(always)]
pub fn is_single_threaded() -> bool {
    // SAFETY: a byte of the C library, or ours. If it is not zero, no thread writes to it now: it
    // only changes when the calling thread creates another. A zero may be overwritten at any time,
    // and is read as such.
    unsafe { VARIABLE.load(Ordering::Relaxed).read_volatile() != 0 }
}
