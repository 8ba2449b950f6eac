//! A gate before a shared lock; a [`Gate`](super::Gate) stands before an exclusive lock.
//!
//! The lock is a word, the gate, which counts the readers inside or says that a writer is inside. A
//! running thread that finds the gate open enters. A thread that can't enter acquires the queue,
//! which is a shared lock of any kind, as a reader or as a writer. So waiters are served in the
//! queue's order. The threads that hold the queue *stand at the gate*: one writer, or some readers.
//! Each waits until it can enter, and then releases the queue at once. So readers follow each
//! other, and the lock is not idle because a waiter sleeps.
//!
//! Newcomers overtake for a bounded time. A writer at the gate that finds readers inside closes the
//! gate to newcomers, since with many readers there may always be one inside. A thread that was
//! woken `IN_VAIN` times, and found the gate taken each time, closes the gate as well.
//!
//! A queue that prefers readers promises more: a reader never waits for a writer that waits. So a
//! thread that reads may acquire the lock for reading once more, or wait for another reader. With
//! such a queue, readers don't queue but wait at the gate, where they go before the writer. Nor
//! does a closed gate keep them out.
//!
//! ```text
//!   bits      31      4      3         2       1       0
//!             readers | PREFERRED | CLOSED | WRITER | PARKED
//!
//!   reader    r,*,c,0 -> r+1,*,c,0       not through a closed gate
//!   writer    0,*,0,0 -> 0,*,0,1
//!   downgrade 0,*,c,1 -> 1,*,c,0
//!   at the gate the same, but also through a closed gate, which is open afterwards
//! ```
//!
//! 1. Before a thread sleeps, it has set or seen `PARKED` in a word that says that a thread is
//!    inside. The writer that leaves, or the last reader that leaves, wakes it. At a free gate the
//!    mark is outdated, and a thread that enters clears it.
//! 2. `PREFERRED` keeps the writer at the gate out while readers wait. This writer may sleep
//!    meanwhile without a mark and with no thread inside, since the reader that enters and clears
//!    `PREFERRED` sets `PARKED`.
//! 3. A release doesn't access the lock after the change that lets others in, since they may drop
//!    the lock.
//!
//! Source: as for the [gate](super::Gate).

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::about::{About, Described, Order};
use super::raw::Downgrade;
use super::raw::{RawLock, RawSharedLock, TryLock, TrySharedLock};
use super::rw_fair::FairRw;
use crate::memory::{Address, Memory, Own, Word};
use crate::wait::PARKED;

/// A writer is inside.
const WRITER: u32 = 1 << 1;
/// Newcomers stay out. If the queue prefers readers, only newcomers that write stay out.
const CLOSED: u32 = 1 << 2;
/// Readers that the queue prefers wait at the gate, and the writer at the gate stays out.
const PREFERRED: u32 = 1 << 3;
/// One reader is inside.
const READER: u32 = 1 << 4;
/// A count of readers that no newcomer adds to. The upper half of the count is left for the readers
/// at the gate, which could otherwise overflow the count to zero.
const FULL: u32 = 1 << 31;
const ALL_READERS: u32 = !(READER - 1);
/// A thread is inside.
const HELD: u32 = WRITER | ALL_READERS;

/// The keys under which threads sleep.
const READERS: u32 = 0;
const WRITERS: u32 = 1;

/// How often a thread at the gate may be woken and find the gate taken before it closes the gate.
/// In a checker's memory the limit is `Memory::BATCH`, which is smaller there.
const IN_VAIN: u32 = 4;

/// A gate before the queue of the shared lock `Q`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RwGate<Q: RawSharedLock = FairRw> {
    word: <Q::Memory as Memory>::Word,
    queue: Q,
}

// SAFETY: zero is a free gate before a free lock.
unsafe impl<Q: RawSharedLock<Memory: Memory<Word: Zeroable>> + Zeroable> Zeroable for RwGate<Q> {}

/// The bits and the key that belong to a reader or a writer that wants to enter.
struct Visitor {
    /// The bits that the thread adds to the word.
    share: u32,
    /// The bits that keep the thread out as a newcomer.
    closed: u32,
    /// The bits that keep the thread out at the gate.
    barred: u32,
    /// The bits that the thread clears when it enters from the gate.
    opens: u32,
    key: u32,
}

impl<Q: RawSharedLock + Described> RwGate<Q> {
    const READERS_FIRST: bool = matches!(Q::ABOUT.order, Order::ReadersFirst);

    const READS: Visitor = Visitor {
        share: READER,
        closed: WRITER | FULL | if Self::READERS_FIRST { 0 } else { CLOSED },
        barred: WRITER,
        opens: CLOSED | PREFERRED,
        key: READERS,
    };
    const WRITES: Visitor = Visitor {
        share: WRITER,
        closed: HELD | CLOSED,
        barred: HELD | PREFERRED,
        opens: CLOSED,
        key: WRITERS,
    };

    /// If none of the bits `out` is set, adds `share` to the word and clears the bits `opens`. The
    /// error is the word that keeps the thread out.
    #[inline]
    fn enter(&self, share: u32, out: u32, opens: u32) -> Result<(), u32> {
        // Relaxed: the exchange orders.
        let mut word = self.word.load(Relaxed);
        while word & out == 0 {
            let old_mark = if word & HELD == 0 { PARKED } else { 0 };
            let mark = if word & opens & PREFERRED == 0 { 0 } else { PARKED };
            let new = ((word & !(old_mark | opens)) | mark) + share;
            // Acquire: pairs with the Release of readers' and writers' releases.
            match self.word.exchange(word, new, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
        Err(word)
    }

    /// Enters as a newcomer. Spins for a while, since the section of the thread inside may be about
    /// to end. The error is the word that keeps the thread out.
    fn come(&self, who: &Visitor) -> Result<(), u32> {
        let mut outcome = self.enter(who.share, who.closed, 0);
        for looks in 1..Q::Memory::PATIENCE / 4 {
            if outcome.is_ok() {
                break;
            }
            Q::Memory::pause_at(&self.word, looks);
            outcome = self.enter(who.share, who.closed, 0);
        }
        outcome
    }

    /// Waits at the gate until the thread has entered.
    fn stand(&self, who: &Visitor) {
        let mut looks = 0;
        let mut woken = 0;
        let in_vain = IN_VAIN.min(Q::Memory::BATCH);
        while let Err(word) = self.enter(who.share, who.barred, who.opens) {
            looks += 1;
            let sleepy = looks >= Q::Memory::PATIENCE;
            let mut marked = word | if sleepy { PARKED } else { 0 };
            if woken >= in_vain || !Self::READERS_FIRST && word & ALL_READERS != 0 {
                marked |= CLOSED;
            }
            if Self::READERS_FIRST && who.key == READERS {
                marked |= PREFERRED;
            }
            // Relaxed: the exchange publishes nothing else, and the kernel checks the word again.
            if word != marked && self.word.exchange(word, marked, Relaxed).is_err() {
                continue;
            }
            if sleepy {
                Q::Memory::park(&self.word, marked, who.key, None);
                woken += 1;
                looks = 0;
            } else {
                Q::Memory::pause_at(&self.word, looks);
            }
        }
    }

    #[cold]
    fn contend(&self) {
        if self.come(&Self::WRITES).is_ok() {
            return;
        }
        let node = Own::<Q::Node, Q::Memory>::default();
        // SAFETY: the node stays until the queue is released.
        unsafe {
            self.queue.acquire(&node);
            self.stand(&Self::WRITES);
            self.queue.release(&node);
        }
    }

    #[cold]
    fn contend_shared(&self) {
        let Err(word) = self.come(&Self::READS) else { return };
        assert!(word & FULL == 0, "more readers share the lock than it can count");
        if Self::READERS_FIRST {
            return self.stand(&Self::READS);
        }
        let node = Own::<Q::SharedNode, Q::Memory>::default();
        // SAFETY: the node stays until the queue is released.
        unsafe {
            self.queue.acquire_shared(&node);
            self.stand(&Self::READS);
            self.queue.release_shared(&node);
        }
    }

    /// Wakes threads at the gate: only the readers if they are preferred, else all threads. `word`
    /// is the lock's state after the release. The lock may already be freed.
    #[cold]
    fn wake(gate: Address, word: u32) {
        let key = (word & PREFERRED != 0).then_some(READERS);
        Q::Memory::unpark(gate, key, u32::MAX);
    }
}

// SAFETY: a writer enters when no thread is inside, and no thread enters while it is inside. All
// changes of the word are atomic additions and exchanges; so the Acquire of the thread that goes in
// sees the Release of all threads that have left.
unsafe impl<Q: RawSharedLock + Described> RawLock for RwGate<Q> {
    type Memory = Q::Memory;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        // Acquire: as in `enter`.
        if self.word.exchange(0, WRITER, Acquire).is_err() {
            self.contend();
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let address = self.word.address();
        // Release: pairs with the Acquire of `enter`.
        let word = self.word.fetch_sub(WRITER, Release) - WRITER;
        if word & PARKED != 0 {
            Self::wake(address, word);
        }
    }
}

// SAFETY: a reader enters while no writer is inside, and no writer enters until it has left.
unsafe impl<Q: RawSharedLock + Described> RawSharedLock for RwGate<Q> {
    type SharedNode = ();

    /// Acquires the lock for reading, as [`RawSharedLock`] requires.
    ///
    /// # Panics
    ///
    /// If 134,217,728 readers are inside.
    #[inline]
    unsafe fn acquire_shared(&self, (): &()) {
        // Relaxed: the exchange orders.
        let word = self.word.load(Relaxed);
        let out = WRITER | CLOSED | FULL | PARKED;
        // Acquire: as in `enter`.
        if word & out != 0 || self.word.exchange(word, word + READER, Acquire).is_err() {
            self.contend_shared();
        }
    }

    #[inline]
    unsafe fn release_shared(&self, (): &()) {
        let address = self.word.address();
        // Release: pairs with the Acquire of `enter`.
        let word = self.word.fetch_sub(READER, Release) - READER;
        if word & (ALL_READERS | PARKED) == PARKED {
            Self::wake(address, word);
        }
    }
}

// SAFETY: as above.
unsafe impl<Q: RawSharedLock + Described> TryLock for RwGate<Q> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.enter(Self::WRITES.share, Self::WRITES.closed, 0).is_ok()
    }
}

// SAFETY: as above.
unsafe impl<Q: RawSharedLock + Described> TrySharedLock for RwGate<Q> {
    #[inline]
    unsafe fn try_acquire_shared(&self, (): &()) -> bool {
        self.enter(Self::READS.share, Self::READS.closed, 0).is_ok()
    }
}

// SAFETY: the writer goes and the reader comes in one step, and the reader keeps writers out.
unsafe impl<Q: RawSharedLock + Described> Downgrade for RwGate<Q> {
    unsafe fn downgrade(&self, (): &(), (): &()) {
        let address = self.word.address();
        // Release: pairs with the Acquire of `enter`.
        let word = self.word.fetch_add(READER - WRITER, Release) + (READER - WRITER);
        // (1): we kept the readers at the gate out. Writers that are woken go back to sleep.
        if word & PARKED != 0 {
            Self::wake(address, word);
        }
    }
}

/// The queue's description in the catalogue. It applies to the threads that wait in the queue.
impl<Q: RawSharedLock + Described> Described for RwGate<Q> {
    const ABOUT: About = Q::ABOUT;
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn refuses_readers_that_it_cannot_count() {
        let lock = <RwGate>::default();
        lock.word.store(FULL - READER, Relaxed);
        // SAFETY: there are no nodes; the count is made up.
        unsafe {
            lock.acquire_shared(&());
            assert!(!lock.try_acquire_shared(&()));
            assert!(catch_unwind(|| lock.acquire_shared(&())).is_err());
            assert_eq!(lock.word.load(Relaxed), FULL);
            lock.release_shared(&());
            assert!(lock.try_acquire_shared(&()));
        }
    }
}
