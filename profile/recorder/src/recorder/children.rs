//! What a parent is told of a child's end, noted in the child's header: in this process's own file, or
//! in the child's.
//!
//! This process may have no file of its own: a shell that waits for a server uses no lock. So what it is
//! told goes where it belongs, into the file that the child has left. It may come in a signal handler;
//! nothing here is shared with the process's own recording.

use core::mem::offset_of;

use core::sync::atomic::{AtomicU32, Ordering};

use rustix::io::{pread, pwrite};
use syncline_recording::layout::{Header, MAGIC, PROCESS_EXITED, SEEN, VERSION};

use crate::options::Options;
use crate::recorder::{self, family};
use crate::thread::usage::is_sandboxed;
use crate::{clock, options};

/// The part of a header that tells whose it is.
const START: usize = offset_of!(Header, sample_period);

/// Notes that a child has ended with this status, as `wait` gives it.
pub fn ended(pid: u32, status: u32) {
    let Some(options) = options::get() else { return };
    let joined = recorder::existing().and_then(|recorder| {
        let file = recorder.file();
        let header = family::find(file, pid)?;
        // SAFETY: a header of this file, whose process has ended; the words are only touched atomically.
        unsafe {
            file.family().left(header);
            let ended = AtomicU32::from_ptr(&raw mut (*header).state).load(Ordering::Relaxed);
            Some((ended, AtomicU32::from_ptr(&raw mut (*header).seen)))
        }
    });
    let note = |seen: &AtomicU32| seen.store(SEEN | status & (SEEN - 1), Ordering::Relaxed);
    // One that did not say that it ends may have run another program, which has a file of its own.
    match joined {
        Some((PROCESS_EXITED, seen)) => note(seen),
        Some((_, seen)) if !ended_elsewhere(options, pid, status) => note(seen),
        Some(_) => {}
        None => _ = ended_elsewhere(options, pid, status),
    }
}

/// Notes a child's end in its own file. False if it has none.
fn ended_elsewhere(options: &Options, pid: u32, status: u32) -> bool {
    if is_sandboxed() {
        return false;
    }
    let Ok(file) = options.folder.last(pid, "syncline") else { return false };
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
    let is_its = is_whole && is_its;
    if is_its {
        let seen = (SEEN | status & (SEEN - 1)).to_ne_bytes();
        let _ = pwrite(&file, &seen, offset_of!(Header, seen) as u64);
    }
    is_its
}
