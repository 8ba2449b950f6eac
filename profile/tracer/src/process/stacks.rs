//! Keeps parts of other threads' stacks to which sections write, such as a local sum in `main` to
//! which other threads add. The return addresses around such a word show to which function's frame
//! it belongs. So when a word is first seen, the memory around it is copied into the file, and the
//! report finds the frame in it (`syncline_code`, `symbols/on_stack.rs`).
//!
//! Nothing here checks whether a word is on a stack. Any word that is written to, and lies neither
//! in a heap block nor in a loaded file, counts. At most [`MOST`] words are kept.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use syncline_interpose::for_each_loaded;
use syncline_trace::layout::{NONE, StackRecord, WordRecord};
use syncline_trace::writer::Writer;

/// The most words whose surroundings are kept.
const MOST: u32 = 64;
/// The number of slots for words that have been examined.
const WORDS: usize = 1 << 8;
const PAGE: u64 = 4096;
/// The number of pages that are kept for a word: its own, the one below and the one above.
const KEPT: u64 = 3;

/// The words that have been examined in a process, and the number of those that were kept.
pub struct Stacks {
    seen: [AtomicU64; WORDS],
    kept: AtomicU32,
}

impl Stacks {
    /// The state before any word has been examined.
    pub const fn none() -> Stacks {
        Stacks { seen: [const { AtomicU64::new(0) }; WORDS], kept: AtomicU32::new(0) }
    }

    /// Keeps the surroundings of the words that a section wrote, except words on its thread's own
    /// stack (`own`). Must be called on the context's stack, after the release of the lock.
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

/// The words of [`KEPT`] pages from `start` on; zeros for pages without memory. They are read by a
/// system call, which can't fault, since the thread that owns the stack may end at this moment.
fn copy(start: u64) -> Vec<u64> {
    let mut words = vec![0_u64; (KEPT * PAGE / 8) as usize];
    for (number, page) in words.chunks_mut((PAGE / 8) as usize).enumerate() {
        let address = start + number as u64 * PAGE;
        let into = libc::iovec { iov_base: page.as_mut_ptr().cast(), iov_len: PAGE as usize };
        let from = libc::iovec { iov_base: address as *mut _, iov_len: PAGE as usize };
        // SAFETY: the kernel writes only to our buffer, and refuses an address that is not mapped.
        // `syscall` is not a cancellation point, so the thread can't end here.
        unsafe {
            let me = libc::syscall(libc::SYS_getpid);
            libc::syscall(libc::SYS_process_vm_readv, me, &into, 1usize, &from, 1usize, 0usize);
        }
    }
    words
}
