//! The outer part of a thread's stack, which its samples have no copy of.
//!
//! The kernel copies the first kilobytes of the stack into each sample. A function with a buffer
//! among its variables has a larger frame, and the callers' frames lie beyond it. So if a sample
//! needed a word from there, the stack is copied from outside whenever the samples are read, while
//! the thread runs. A word counts only if it is the same in the copies before and after a sample.
//! Return addresses and saved registers stay the same until the function with the large frame
//! returns.

use std::cell::Cell;
use std::io::IoSliceMut;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// The size of a page in bytes. A stack is mapped in pages, and up to [`PAGES`] of them are copied,
/// which takes about 40 µs.
const PAGE: usize = 4 << 10;
const PAGES: usize = 64;
const SIZE: u64 = (PAGES * PAGE) as u64;

/// The two latest copies of a thread's stack.
#[derive(Default)]
pub struct Outer {
    /// The lowest stack pointer of a sample that needed more than the kernel had copied.
    lowest: Cell<Option<u64>>,
    before: Part,
    after: Part,
}

/// A part of a stack.
#[derive(Default)]
struct Part {
    base: u64,
    bytes: Vec<u8>,
}

impl Outer {
    /// Copies the stack of a thread of the process `pid`, if an earlier sample of the thread needed
    /// that.
    pub fn copy(&mut self, pid: u32) {
        let Some(lowest) = self.lowest.get() else { return };
        std::mem::swap(&mut self.before, &mut self.after);
        self.after.read(pid, lowest - lowest % PAGE as u64);
    }

    /// The word at an address of the stack, at the time of a sample with this stack pointer that
    /// was taken between the two latest copies; `None` if they don't have it, or differ.
    pub fn word(&self, sp: u64, at: u64) -> Option<u64> {
        if at.checked_sub(sp)? < SIZE {
            self.lowest.set(Some(self.lowest.get().map_or(sp, |lowest| lowest.min(sp))));
        }
        let word = self.before.word(at)?;
        (self.after.word(at) == Some(word)).then_some(word)
    }
}

impl Part {
    /// Reads [`PAGES`] pages from `base` on, or those up to the end of the stack.
    fn read(&mut self, pid: u32, base: u64) {
        self.base = base;
        self.bytes.resize(PAGES * PAGE, 0);
        // Each piece is read completely or not at all, and the stack may end after any.
        let page = |n| RemoteIoVec { base: (base as usize).wrapping_add(n * PAGE), len: PAGE };
        let pages: Vec<RemoteIoVec> = (0..PAGES).map(page).collect();
        let into = &mut [IoSliceMut::new(&mut self.bytes)];
        let read = process_vm_readv(Pid::from_raw(pid as i32), into, &pages);
        self.bytes.truncate(read.unwrap_or(0));
    }

    fn word(&self, at: u64) -> Option<u64> {
        let from = usize::try_from(at.checked_sub(self.base)?).ok()?;
        Some(u64::from_ne_bytes(*self.bytes.get(from..)?.first_chunk()?))
    }
}

#[cfg(test)]
mod tests {
    use std::process::id;

    use super::*;

    #[test]
    fn a_word_counts_if_it_is_the_same_before_and_after() {
        let mut stack = vec![7u64; 4 * PAGE];
        let sp = stack.as_ptr() as u64;
        let at = sp + 8 * PAGE as u64;
        let mut outer = Outer::default();
        assert_eq!(outer.word(sp, at), None, "it was not needed before");
        outer.copy(id());
        assert_eq!(outer.word(sp, at), None, "nothing came before");
        outer.copy(id());
        assert_eq!(outer.word(sp, at), Some(7));
        stack[PAGE] = 8;
        outer.copy(id());
        assert_eq!((outer.word(sp, at), outer.word(sp, at + 8)), (None, Some(7)));
        outer.copy(id());
        assert_eq!(outer.word(sp, at), Some(8));
        assert_eq!(outer.word(sp, sp + SIZE + PAGE as u64), None, "behind the copies");
        assert_eq!(outer.word(sp, sp - 8), None, "below the stack pointer");
    }

    #[test]
    fn nothing_is_copied_before_a_sample_needs_it() {
        let stack = vec![7u64; 4 * PAGE];
        let mut outer = Outer::default();
        outer.copy(id());
        outer.copy(id());
        assert!(outer.after.bytes.is_empty());
        assert_eq!(outer.word(1, u64::MAX), None);
        outer.copy(id());
        assert!(outer.after.bytes.is_empty(), "no stack is that large");
        assert_eq!(stack[0], 7);
    }
}
