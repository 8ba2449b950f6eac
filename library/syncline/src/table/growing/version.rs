//! A lock that is also a version: writers take turns, readers write nothing.
//!
//! The word is odd while a writer has it, and each writer that changed something leaves a number
//! that was never there before. A reader notes the number, reads the data, and reads the number
//! again: if it is the same, no writer was there meanwhile. The data that is read in between may be
//! torn. So it is copied word by word, atomically, and not used before the second look.
//!
//! | state | meaning |
//! |---|---|
//! | even | free; half of it is the number of writers that have changed something |
//! | odd | a writer has it |
//!
//! All words that the version protects are written with [`WRITE`](Version::WRITE) and read with
//! [`READ`](Version::READ), that is Release and Acquire. So a reader that has seen a part of what a
//! writer wrote notices the writer at its second read of the number. Weaker orderings would need
//! fences in between.
//!
//! Source: Lameter, "Effective Synchronization on Linux/NUMA Systems" (2005), sequence locks;
//! Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?" (2012), section 4.

use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};
use core::time::Duration;

use crate::memory::{Long, LongMemory};

const LOCKED: u64 = 1;

/// The number of looks after which a waiter lets others run between looks.
const SPINS: u32 = 64;
/// The number of looks after which a waiter sleeps: by then the writer has probably lost its
/// processor, or runs a slow function of its caller's.
const YIELDS: u32 = 256;
/// The longest sleep. Sleepers are not woken, so that a release is an ordinary store.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// The word that is both lock and version.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Version<M: LongMemory> {
    word: M::Long,
}

/// The version that a reader notes before it reads.
#[derive(Clone, Copy, Debug)]
pub struct Seen(u64);

impl Seen {
    /// The word's value while the writer that has seen this version holds the lock.
    pub fn locked(self) -> Self {
        Self(self.0 | LOCKED)
    }
}

impl<M: LongMemory> Version<M> {
    /// The weakest ordering with which words that the version protects may be read.
    pub const READ: Ordering = Acquire;
    /// The ordering with which words that the version protects are written.
    pub const WRITE: Ordering = Release;

    /// The version, for a reader to note before it reads; `None` while a writer holds the lock.
    #[inline]
    pub fn look(&self) -> Option<Seen> {
        // Acquire: pairs with the Release of `unlock`: what that writer wrote is visible.
        let word = self.word.load(Acquire);
        (word & LOCKED == 0).then_some(Seen(word))
    }

    /// Whether no writer has changed anything since `seen`. If so, what was read is what one writer
    /// left.
    #[inline]
    pub fn unchanged(&self, seen: Seen) -> bool {
        // Relaxed: comes after the reads, since those are Acquire. If one of them saw what a writer
        // wrote with Release, this load sees that writer's `try_lock`, or a later value.
        self.word.load(Relaxed) == seen.0
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<Seen> {
        // Relaxed: the exchange checks it.
        let word = self.word.load(Relaxed);
        // Acquire: pairs with the Release of `unlock`.
        let free = word & LOCKED == 0 && self.word.exchange(word, word + LOCKED, Acquire).is_ok();
        free.then_some(Seen(word))
    }

    /// Releases the lock; `seen` is what locking returned. A writer that changed nothing leaves the
    /// version as it was, so that readers need not read again.
    #[inline]
    pub fn unlock(&self, seen: Seen, changed: bool) {
        let next = seen.0 + if changed { LOCKED << 1 } else { 0 };
        // Release: pairs with the Acquire of `look` and `try_lock`.
        self.word.store(next, Release);
    }
}

/// Waits a little for a writer; `looks` counts from 1.
#[cold]
pub fn wait<M: LongMemory>(looks: u32) {
    if looks < SPINS {
        M::pause(looks);
    } else if looks < YIELDS {
        M::yield_now();
    } else {
        let sleep = Duration::from_micros(50).saturating_mul(looks - YIELDS + 1);
        // No other thread knows the word, so none wakes us.
        let word = M::Word::default();
        M::park(&word, 0, 0, Some(M::now() + sleep.min(LONGEST_SLEEP)));
    }
}
