//! Standard output. Every rank has a C library of its own, with a buffer of its own. To keep the
//! order in which threads print, a rank's buffer is written before a thread of the rank lets others
//! go on.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{FILE, c_char};
use syncline_interpose::real;

static STANDARD_OUTPUT: AtomicPtr<FILE> = AtomicPtr::new(null_mut());

real! {
    fn __fpending(file: *mut FILE) -> usize;
}

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

/// Writes what is in the buffer. Runs as the program's code.
pub fn flush() {
    let file = STANDARD_OUTPUT.load(Relaxed);
    // SAFETY: an open file of the C library. It can be closed only together with the buffer.
    unsafe {
        if !file.is_null() && __fpending(file) > 0 {
            libc::fflush(file);
        }
    }
}

/// Prints a line on standard error.
pub fn say(text: &[&[u8]]) {
    let mut line = [0_u8; 512];
    let mut length = 0;
    let parts = [b"syncline: ".as_slice()]
        .into_iter()
        .chain(text.iter().copied())
        .chain([b"\n".as_slice()]);
    for part in parts {
        let part = &part[..part.len().min(line.len() - length)];
        line[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    let arguments = [2, line.as_ptr().cast::<c_char>().addr(), length, 0, 0, 0];
    // SAFETY: writes our own bytes. An error is ignored: standard error may be closed.
    unsafe { crate::gate::direct(libc::SYS_write, arguments) };
}
