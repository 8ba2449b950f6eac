//! When a process learns that its child has ended, it notes this in the child's header. The header
//! is in the parent's file or in a file of the child's own.
//!
//! The note is in the child's header because the parent may have no file (a shell that waits for a
//! server uses no lock). The parent may learn of the end in a signal handler. Hence this code
//! accesses the data that it shares with the process's own recording only atomically.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::{pread, pwrite};
use syncline_interpose::Folder;

use super::file::File;
use super::number::own_number;
use crate::layout::{HEADER_SIZE, Header, MAGIC, PROCESS_EXITED, SEEN, VERSION};

/// The length of the part of a header that identifies its process.
const START: usize = offset_of!(Header, sample_period);

/// Notes that a child has ended at `now`, in ticks, with this status as `wait` returns it. (A child
/// that was killed could not note its end itself.) `file` is this process's file, if it has one.
/// `elsewhere` notes the end in the child's own file, and returns whether there is such a file
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
        // SAFETY: the header lies in this mapped file, and its process has ended. Its words are
        // only accessed atomically.
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
    // A child that did not note its end may have executed another program, which has a file of its
    // own.
    match joined {
        Some((PROCESS_EXITED, end)) => note(end),
        Some((_, end)) if !elsewhere() => note(end),
        Some(_) => {}
        None => _ = elsewhere(),
    }
}

/// The header of this process's child with this number, if the child writes to this process's file.
/// A header in which this process has already noted an end does not count, since process numbers
/// are reused.
fn header_of_child(file: &File, pid: u32) -> Option<*mut Header> {
    let own = own_number();
    // SAFETY: the first header is mapped, and this word is only accessed atomically.
    let newest = unsafe { AtomicU32::from_ptr(&raw mut (*file.first()).newest) };
    // Acquire pairs with the Release in `File::join`, which links the header after it was filled
    // in.
    let mut page = newest.load(Ordering::Acquire);
    while page != 0 {
        let header = file.at(u64::from(page) * HEADER_SIZE as u64).cast::<Header>();
        // SAFETY: a header in the list is mapped. Only one of these words still changes, and only
        // atomically.
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

/// Notes a child's end in a file of the child's own. Returns false if there is none.
pub fn child_ended_elsewhere(folder: &Folder, pid: u32, status: u32, now: u64) -> bool {
    let Ok(file) = folder.last(pid, "syncline") else { return false };
    let mut start = [0; START];
    let is_whole = pread(&file, &mut start, 0) == Ok(START);
    let word = |at: usize| {
        let bytes = start[at..at + 4].try_into();
        u32::from_ne_bytes(bytes.unwrap_or_default())
    };
    // The number alone does not show that the file is the child's: numbers are reused, and mean
    // other processes in other namespaces.
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
