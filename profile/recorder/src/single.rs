//! Whether the process has one thread only, as the C library knows.

use core::ffi::c_char;
use core::ptr::from_ref;
use core::sync::atomic::{AtomicPtr, Ordering};

use syncline_interpose::definition;

/// What an older C library has instead of the variable: it does not say.
static UNKNOWN: c_char = 0;
/// The C library's variable (since 2.32). Only read.
///
/// Relaxed: either address may be read at any time, and nothing else is published with it.
static VARIABLE: AtomicPtr<c_char> = AtomicPtr::new(from_ref(&UNKNOWN).cast_mut());

/// Looks the variable up.
pub fn look_up() {
    let variable = definition(c"__libc_single_threaded").cast::<c_char>();
    if !variable.is_null() {
        VARIABLE.store(variable, Ordering::Relaxed);
    }
}

/// Whether no other thread can run until the calling one makes one.
#[inline(always)]
pub fn is_single_threaded() -> bool {
    // SAFETY: a byte of the C library, or ours. No thread writes to it meanwhile, if it is not zero: it
    // changes when the calling thread makes another one. A zero may be written at any time and is
    // read as such.
    unsafe { VARIABLE.load(Ordering::Relaxed).read_volatile() != 0 }
}
