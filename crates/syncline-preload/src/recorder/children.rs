//! What a parent is told of a child's end, noted in the child's file.
//!
//! This process may have no file of its own: a shell that waits for a server uses no lock. So what it is
//! told goes where it belongs, into the file that the child has left. It may come in a signal handler;
//! nothing here is shared with the process's own recording.

use core::mem::offset_of;

use rustix::io::{pread, pwrite};
use syncline_recording::layout::{Header, MAGIC, SEEN, VERSION};

use crate::thread::usage::is_sandboxed;
use crate::{clock, options};

/// The part of a header that tells whose it is.
const START: usize = offset_of!(Header, sample_period);

/// Notes that a child has ended with this status, as `wait` gives it.
pub fn ended(pid: u32, status: u32) {
    let Some(options) = options::get() else { return };
    if is_sandboxed() {
        return;
    }
    let Ok(file) = options.folder.last(pid, "syncline") else { return };
    let mut start = [0; START];
    let is_whole = pread(&file, &mut start, 0) == Ok(START);
    let word = |at: usize| {
        let bytes = start[at..at + 4].try_into();
        u32::from_ne_bytes(bytes.unwrap_or_default())
    };
    // Numbers are given again, and mean another process in another namespace.
    let is_its = start.starts_with(&MAGIC)
        && word(offset_of!(Header, version)) == VERSION
        && word(offset_of!(Header, pid)) == pid
        && word(offset_of!(Header, parent)) == clock::process();
    if is_whole && is_its {
        let seen = (SEEN | status & (SEEN - 1)).to_ne_bytes();
        let _ = pwrite(&file, &seen, offset_of!(Header, seen) as u64);
    }
}
