//! Notes a child's end, which its parent learns of, in the child's header: in this process's file,
//! or in the child's own.
//!
//! The parent may have no file of its own: a shell that waits for a server uses no lock. So the end
//! is noted in the file that the child has left. The parent may learn of it in a signal handler, so
//! what is shared with the process's own recording is only touched atomically.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::{pread, pwrite};
use syncline_interpose::Folder;

use super::file::File;
use super::number::own_number;
use crate::layout::{HEADER_SIZE, Header, MAGIC, PROCESS_EXITED, SEEN, VERSION};

/// The part of a header that identifies its process.
const START: usize = offset_of!(Header, sample_period);

/// Notes that a child has ended at `now`, in ticks, with this status as `wait` gives it: a child
/// that was killed could not note its end itself. `file` is this process's, if it has one.
/// `elsewhere` notes the end in the child's own file, and returns whether there is one
/// ([`child_ended_elsewhere`]).
pub fn child_ended(
    file: Option<&File>,
    pid: u32,
    status: u32,
    now: u64,
    mut elsewhere: impl FnMut() -> bool,
) {
    let joined = file.and_then(|file| {
        let header = header_of_child(file, pid)?;
        // SAFETY: a header of this file, whose process has ended; the words are only touched
        // atomically.
        unsafe {
            file.family().left(header);
            let state = AtomicU32::from_ptr(&raw mut (*header).state).load(Ordering::Relaxed);
            let ended = AtomicU64::from_ptr(&raw mut (*header).ended);
            Some((state, (AtomicU32::from_ptr(&raw mut (*header).seen), ended)))
        }
    });
    let note = |(seen, ended): (&AtomicU32, &AtomicU64)| {
        seen.store(SEEN | status & (SEEN - 1), Ordering::Relaxed);
        let _ = ended.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    };
    // A child that did not note its end may have executed another program, which then has its own
    // file.
    match joined {
        Some((PROCESS_EXITED, end)) => note(end),
        Some((_, end)) if !elsewhere() => note(end),
        Some(_) => {}
        None => _ = elsewhere(),
    }
}

/// The header of this process's child of this number, if the child writes to this process's file
/// and its end is not noted yet: process numbers are reused.
fn header_of_child(file: &File, pid: u32) -> Option<*mut Header> {
    let own = own_number();
    // SAFETY: the first header is mapped, and its word is only touched atomically.
    let newest = unsafe { AtomicU32::from_ptr(&raw mut (*file.first()).newest) };
    // Acquire pairs with the Release in `File::join`, which links the header after it was filled
    // in.
    let mut page = newest.load(Ordering::Acquire);
    while page != 0 {
        let header = file.at(u64::from(page) * HEADER_SIZE as u64).cast::<Header>();
        // SAFETY: a header that is linked is mapped. Of these words only one changes, atomically.
        let (is_it, before) = unsafe {
            let seen = AtomicU32::from_ptr(&raw mut (*header).seen).load(Ordering::Relaxed);
            (((*header).pid, (*header).parent, seen) == (pid, own, 0), (*header).before)
        };
        if is_it {
            return Some(header);
        }
        page = before;
    }
    None
}

/// Notes a child's end in the child's own file. Returns false if it has none.
pub fn child_ended_elsewhere(folder: &Folder, pid: u32, status: u32, now: u64) -> bool {
    let Ok(file) = folder.last(pid, "syncline") else { return false };
    let mut start = [0; START];
    let is_whole = pread(&file, &mut start, 0) == Ok(START);
    let word = |at: usize| {
        let bytes = start[at..at + 4].try_into();
        u32::from_ne_bytes(bytes.unwrap_or_default())
    };
    // Process numbers are reused, and stand for another process in another namespace.
    let is_its = start.starts_with(&MAGIC)
        && word(offset_of!(Header, version)) == VERSION
        && word(offset_of!(Header, pid)) == pid
        && word(offset_of!(Header, parent)) == own_number();
    let is_its = is_whole && is_its;
    if is_its {
        let seen = (SEEN | status & (SEEN - 1)).to_ne_bytes();
        let _ = pwrite(&file, &seen, offset_of!(Header, seen) as u64);
        let ended = offset_of!(Header, ended);
        if start[ended..ended + size_of::<u64>()] == [0; size_of::<u64>()] {
            let _ = pwrite(&file, &now.to_ne_bytes(), ended as u64);
        }
    }
    is_its
}
