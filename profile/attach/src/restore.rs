//! Restores the old values of slots from outside, while all threads of the process are stopped.
//!
//! Usually the recorder restores them, under the loader's lock, so that no module is unloaded
//! meanwhile. But if a process was forked while another thread of its parent was in the loader,
//! that lock is held for ever: the C library's `fork` frees some of its locks in the child, but not
//! this one. While no thread runs, no lock is needed.

use std::mem::offset_of;

use syncline_recording::live::{Slot, State};

use crate::borrow::Borrowed;
use crate::memory::{Memory, words};
use crate::modules::{self, Module};
use crate::refusal::Error;
use crate::trace;

/// Restores the slots that are noted in the recorder's state at the address `state`, and returns
/// how many. A slot is left alone if its module was unloaded, or if it does not point to the
/// recorder any more.
pub fn all(borrowed: &Borrowed<'_>, memory: Memory, state: u64) -> Result<usize, Error> {
    let unread = |source| Error::System { what: "read from the process", source };
    let word = |field: usize| memory.word(state + field as u64).map_err(unread);
    // This reads two fields of four bytes each; the count is the second.
    let count = (word(offset_of!(State, busy))? >> 32) as usize;
    let notes = word(offset_of!(State, slots))?;
    let bytes = memory.read(notes, count * size_of::<Slot>()).map_err(unread)?;
    let modules = modules::of(memory).map_err(unread)?;
    let mut restored = 0;
    for note in words(&bytes).collect::<Vec<_>>().chunks_exact(size_of::<Slot>() / 8) {
        let &[at, theirs, ours, module, ..] = note else { continue };
        let is_in = |m: &Module| m.range.start == module && m.range.contains(&at);
        if modules.iter().any(is_in) && memory.word(at).is_ok_and(|word| word == ours) {
            let failed = |source| Error::System { what: "write to the process", source };
            trace::write_word(borrowed.tid(), at, theirs).map_err(failed)?;
            restored += 1;
        }
    }
    Ok(restored)
}
