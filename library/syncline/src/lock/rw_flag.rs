//! A reader-writer lock of two words, whose waiters never sleep: a writer's flag, and a count of
//! readers.
//!
//! Since the flag has a word of its own, a reader adds to the count without having to know it, and
//! a writer releases with a store. So this is the quickest lock here for reading, unless the
//! readers' shared word itself becomes the bottleneck. Other threads can't see the waiters, so they
//! can't wake them. Threads that should sleep need the [compact lock](super::CompactRw). Under a
//! policy that lets waiters sleep, this lock's waiters yield.
//!
//! ```text
//!   reader    readers + 1, then looks at the flag     raised: readers - 1, waits until it is not
//!   writer    flag 0 -> RAISED                        raised: waits until it is not
//!             then looks at the readers               not 0: waits until they have left
//!   release   readers - 1                             flag = 0
//! ```
//!
//! 1. A reader and a writer each change their word and then look at the other's. All four accesses
//!    are SeqCst, so they have one order, and at least one of the two threads sees the other's
//!    change.
//! 2. A reader that sees the flag steps back. A writer that sees readers waits. No reader that
//!    comes later stays, so the count gets to 0.
//! 3. Only the writer's first look must be SeqCst: a reader that this look misses sees the flag. A
//!    count of 0 that the writer reads later was written by the last reader to leave.
//!
//! A writer that has raised the flag goes before all readers that come later, so readers don't
//! starve writers. When the writer has left, the waiting readers and writers compete for the lock.
//! Among many writers a reader may starve.
//!
//! Source: common practice. The two words are used as in Dekker's algorithm (Dijkstra 1965): each
//! side stores, then looks. Concurrency Kit's `ck_rwlock` is built in this way.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::{RawLock, RawSharedLock};
use super::raw::{TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use crate::memory::{Memory, Native, Word};
use crate::wait::{Spin, Wait, Yield};

/// A writer has the lock, or waits for the readers to leave.
const RAISED: u32 = 2;
/// One reader.
const READER: u32 = 2;
/// The limit of the count of readers. It is below the word's range, so that readers that have added
/// themselves and then step back can't make the count overflow to zero.
const FULL: u32 = 1 << 31;

/// The reader-writer lock of a flag and a count.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FlagRw<W: Wait = Yield, M: Memory = Native> {
    flag: M::Word,
    readers: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: the lock is two words and nothing else, so it may be zero if words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for FlagRw<W, M> {}

impl<W: Wait, M: Memory> FlagRw<W, M> {
    /// Waits until a word is 0. Returns `false` if the deadline passed first.
    #[cold]
    fn wait(word: &M::Word, deadline: Option<Duration>) -> bool {
        let zero = |value| value == 0;
        let waited = if W::SLEEPS {
            Yield::wait::<M>(word, 0, deadline, zero)
        } else {
            W::wait::<M>(word, 0, deadline, zero)
        };
        waited.is_some()
    }

    #[inline]
    fn raise(&self) -> bool {
        // SeqCst: the writer's change of (1). As Acquire it pairs with the Release of `lower`.
        self.flag.exchange(0, RAISED, SeqCst).is_ok()
    }

    #[inline]
    fn lower(&self) {
        // Release: pairs with the looks at the flag in `raise` and `enter`.
        Spin::hand_over::<M>(&self.flag, 0);
    }

    /// Whether the readers have left.
    #[inline]
    fn alone(&self) -> bool {
        // SeqCst: the writer's look of (1). As Acquire it pairs with the Release of `leave`.
        self.readers.load(SeqCst) == 0
    }

    /// Raises the flag and waits for the readers to leave. Returns `false` if the deadline passed
    /// first.
    #[inline]
    fn take(&self, deadline: Option<Duration>) -> bool {
        while !self.raise() {
            if !Self::wait(&self.flag, deadline) {
                return false;
            }
        }
        // The looks of `wait` are Acquire, which (3) allows.
        let taken = self.alone() || Self::wait(&self.readers, deadline);
        if !taken {
            self.lower();
        }
        taken
    }

    #[inline]
    fn enter(&self) -> bool {
        // Relaxed: a hint. Only the look after the change counts.
        if self.flag.load(Relaxed) != 0 {
            return false;
        }
        // SeqCst, both: the reader's change and look of (1). As Acquire the look pairs with the
        // Release of `lower`.
        let readers = self.readers.fetch_add(READER, SeqCst).wrapping_add(READER);
        if readers < FULL && self.flag.load(SeqCst) == 0 {
            return true;
        }
        self.leave();
        false
    }

    #[inline]
    fn leave(&self) {
        // Release: pairs with the writer's look in `alone` or `wait`.
        self.readers.fetch_sub(READER, Release);
    }

    #[cold]
    fn contend_shared(&self, deadline: Option<Duration>) -> bool {
        loop {
            // Relaxed: if `enter` refused us because there are too many readers, we see them here,
            // unless some have left since.
            assert!(self.readers.load(Relaxed) < FULL - READER, "too many readers to count");
            if !Self::wait(&self.flag, deadline) {
                return false;
            }
            if self.enter() {
                return true;
            }
        }
    }
}

// SAFETY: one writer at a time has raised the flag, and is inside when it has then seen no reader.
// By (1), readers that the writer has not seen have seen the flag, and have stepped back. A thread
// that comes later sees what was done before, by the pairings above.
unsafe impl<W: Wait, M: Memory> RawLock for FlagRw<W, M> {
    type Memory = M;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        self.take(None);
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        self.lower();
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> RawSharedLock for FlagRw<W, M> {
    type SharedNode = ();

    /// Acquires the lock for reading, as [`RawSharedLock`] requires.
    ///
    /// # Panics
    ///
    /// If 1,073,741,823 readers are inside.
    #[inline]
    unsafe fn acquire_shared(&self, (): &()) {
        if !self.enter() {
            self.contend_shared(None);
        }
    }

    #[inline]
    unsafe fn release_shared(&self, (): &()) {
        self.leave();
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for FlagRw<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // Relaxed: `alone` looks again. Because of this early look, a flag is rarely raised and
        // withdrawn, which would disturb readers.
        if self.readers.load(Relaxed) != 0 || !self.raise() {
            return false;
        }
        let taken = self.alone();
        if !taken {
            self.lower();
        }
        taken
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for FlagRw<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        self.take(Some(deadline))
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TrySharedLock for FlagRw<W, M> {
    #[inline]
    unsafe fn try_acquire_shared(&self, (): &()) -> bool {
        self.enter()
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedSharedLock for FlagRw<W, M> {
    #[inline]
    unsafe fn acquire_shared_until(&self, (): &(), deadline: Duration) -> bool {
        self.enter() || self.contend_shared(Some(deadline))
    }
}

impl<W: Wait, M: Memory> Described for FlagRw<W, M> {
    const ABOUT: About = About {
        idea: "a writer's flag and a count of readers; each side looks at the other's word",
        algorithm: Algorithm::ReaderWriter,
        order: Order::NewReadersLast,
        numa: false,
        advice: "sharing by threads that each have a processor; never sleeps",
        source: "common practice; Concurrency Kit",
    };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    // SAFETY, of all blocks here: there are no nodes, and what is released was acquired.

    #[test]
    fn readers_that_cannot_be_counted_are_refused() {
        let lock = <FlagRw>::default();
        lock.readers.store(FULL - 2 * READER, Relaxed);
        // SAFETY: see above; the test has set the count, so it stands for no readers.
        unsafe {
            lock.acquire_shared(&());
            assert!(!lock.try_acquire_shared(&()));
            assert!(catch_unwind(|| lock.acquire_shared(&())).is_err());
            assert!(catch_unwind(|| lock.acquire_shared_until(&(), Duration::MAX)).is_err());
            assert_eq!(lock.readers.load(Relaxed), FULL - READER);
            lock.release_shared(&());
        }
    }

    #[test]
    fn who_gives_up_leaves_nothing_behind() {
        let lock = <FlagRw>::default();
        let past = Duration::ZERO;
        // SAFETY: see above.
        unsafe {
            lock.acquire(&());
            assert!(!lock.try_acquire(&()) && !lock.acquire_until(&(), past));
            assert!(!lock.try_acquire_shared(&()) && !lock.acquire_shared_until(&(), past));
            lock.release(&());

            assert!(lock.acquire_shared_until(&(), past));
            assert!(!lock.try_acquire(&()) && !lock.acquire_until(&(), past));
            assert!(lock.try_acquire_shared(&()));
            lock.release_shared(&());
            lock.release_shared(&());
            assert!(lock.acquire_until(&(), past));
            lock.release(&());
        }
    }
}
