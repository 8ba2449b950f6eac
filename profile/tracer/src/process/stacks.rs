//! Parts of other threads' stacks to which sections write, such as a sum in `main` that its threads
//! add to. Which frame a word belongs to is known by the return addresses around it, so its
//! surroundings are kept when the word is first seen, and a report finds the frame
//! (`syncline_analysis`, `symbols/on_stack.rs`).
//!
//! The code does not check which stack it is, or whether it is one: words that are written to and
//! belong neither to a heap block nor to a loaded file are kept, at most this many.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use syncline_interpose::for_each_loaded;
use syncline_trace::layout::{NONE, StackRecord, WordRecord};
use syncline_trace::writer::Writer;

/// The most words whose surroundings are kept.
const MOST: u32 = 64;
/// The number of slots for words that were looked at.
const WORDS: usize = 1 << 8;
const PAGE: u64 = 4096;
/// What is kept: the word's page, the one below it and the one above.
const KEPT: u64 = 3;

/// The words of a process that were looked at.
pub struct Stacks {
    seen: [AtomicU64; WORDS],
    kept: AtomicU32,
}

impl Stacks {
    /// No words yet.
    pub const fn none() -> Stacks {
        Stacks { seen: [const { AtomicU64::new(0) }; WORDS], kept: AtomicU32::new(0) }
    }

    /// Keeps the surroundings of a section's words, except words on its own stack. Called on the
    /// context's stack, after the release.
    pub fn keep(&self, writer: &mut Writer, words: &[WordRecord], own: (u64, u64)) {
        for word in words {
            let seen = &self.seen[(word.address / 8) as usize % WORDS];
            if word.written == 0 || word.object != NONE || seen.load(Relaxed) == word.address {
                continue;
            }
            if (own.0..own.1).contains(&word.address) || self.kept.load(Relaxed) >= MOST {
                continue;
            }
            seen.store(word.address, Relaxed);
            let mut in_file = false;
            for_each_loaded(|object| in_file |= (object.start..object.end).contains(&word.address));
            if !in_file {
                self.kept.fetch_add(1, Relaxed);
                let start = (word.address / PAGE).saturating_sub(1) * PAGE;
                let record = StackRecord { start, written: word.address };
                writer.stack(&record, &copy(start));
            }
        }
    }
}

/// The words of some pages; zeros where there is no memory. They are read by a system call, since
/// the thread whose stack it is may end at this moment.
fn copy(start: u64) -> Vec<u64> {
    let mut words = vec![0_u64; (KEPT * PAGE / 8) as usize];
    for (number, page) in words.chunks_mut((PAGE / 8) as usize).enumerate() {
        let address = start + number as u64 * PAGE;
        let into = libc::iovec { iov_base: page.as_mut_ptr().cast(), iov_len: PAGE as usize };
        let from = libc::iovec { iov_base: address as *mut _, iov_len: PAGE as usize };
        // SAFETY: the kernel writes to our buffer alone, and refuses an address that is not mapped.
        // libc's function is no cancellation point; `syscall` is none in any case.
        unsafe {
            let me = libc::syscall(libc::SYS_getpid);
            libc::syscall(libc::SYS_process_vm_readv, me, &into, 1usize, &from, 1usize, 0usize);
        }
    }
    words
}
