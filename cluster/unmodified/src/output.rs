//! Standard output. Every rank has a C library of its own, with a buffer of its own.
//!
//! To keep the order in which threads print, the other ranks write each line at once, and rank 0
//! writes what is in its buffer before it writes something for another rank. A thread must not write
//! the buffer at other times: another thread may be using it without the C library's lock, as
//! `putc_unlocked` does.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::FILE;

static STANDARD_OUTPUT: AtomicPtr<FILE> = AtomicPtr::new(null_mut());

unsafe extern "C" {
    static stdout: *mut FILE;
}

/// Finds the C library's file. Called before the variables become global, since the program may
/// have a copy of the C library's pointer among them.
pub fn find() {
    // Relaxed: one thread runs this far.
    // SAFETY: the C library has set it.
    STANDARD_OUTPUT.store(unsafe { stdout }, Relaxed);
}

/// Makes this rank write each line at once.
pub fn by_lines() {
    // SAFETY: the C library's file, which has not been used yet.
    unsafe { libc::setvbuf(STANDARD_OUTPUT.load(Relaxed), null_mut(), libc::_IOLBF, 0) };
}

/// Writes what is in the buffer. Runs as the program's code.
pub fn flush() {
    // SAFETY: the C library's file.
    unsafe { libc::fflush(STANDARD_OUTPUT.load(Relaxed)) };
}
