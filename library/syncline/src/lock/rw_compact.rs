//! A reader-writer lock in one word, for everyday use: a writer that waits keeps new readers out.
//!
//! The word counts the readers inside and the writers that wait. So the thread that leaves knows
//! which threads to wake: one writer if any waits, else all the readers. Readers don't starve
//! writers. But a stream of writers starves readers if at least one writer always waits. Writers
//! get the lock in any order: the one that runs first takes it. All readers write to the word. So
//! this lock doesn't scale if many cores read in sections so short that the word's line is the
//! bottleneck.
//!
//! Waiters always park. The lock has a waiting policy only because all locks of the catalogue have
//! one; the policy changes nothing. For threads that never sleep, the [lock of two
//! words](super::FlagRw) costs less.
//!
//! ```text
//!   bits      31     13 12      3        2           1       0
//!             readers | waiting | READER_WAITS | WRITER | PARKED
//!
//!   reader    r,0,0 -> r+1,0,0         not while a writer is inside or waits
//!   writer    0,w,0 -> 0,w,1           at once
//!             r,w,s -> r,w+1,s         in order to wait
//!             0,w,0 -> 0,w-1,1         having waited
//!             0,w,1 -> 1,w,0           downgraded
//! ```
//!
//! 1. Before a thread sleeps, it has set or seen `PARKED` in a word that kept it out. It falls
//!    asleep only if the word still has that value.
//! 2. A writer sleeps only while it is counted, except for short naps of writers that find the
//!    count full. The threads inside keep it out. The last of them to leave finds the mark and the
//!    count, and wakes one writer. If that thread is a writer, it also clears the mark, so that no
//!    other thread wakes more writers while the woken one is on its way. `READER_WAITS` keeps the
//!    mark in place. The woken writer sets the mark again when it enters or goes back to sleep,
//!    since others may still sleep.
//! 3. Writers, inside or waiting, keep a reader out. The reader sleeps only under `READER_WAITS`,
//!    which keeps the mark in place. The last of these writers to leave or to give up finds both
//!    bits, clears them, and wakes all readers.
//! 4. So in a word that keeps no reader out, the mark is outdated. A thread that enters removes it.
//! 5. A release doesn't access the lock after the change that lets others in, since they may drop
//!    the lock.
//!
//! Source: none; a counting word with a mark for sleepers is common in C libraries and in Rust's.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::{Downgrade, RawLock, RawSharedLock};
use super::raw::{TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use crate::memory::{Address, Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

/// A writer is inside.
const WRITER: u32 = 1 << 1;
/// A reader waits, or has given up waiting.
const READER_WAITS: u32 = 1 << 2;
/// One writer waits.
const WAITING: u32 = 1 << 3;
/// The count of writers that wait. At its limit, no more writers are counted.
const ALL_WAITING: u32 = READER - WAITING;
/// One reader is inside.
const READER: u32 = 1 << 13;
/// The count of readers. At its limit, no more readers enter.
const ALL_READERS: u32 = !(READER - 1);

/// The bits that keep a reader out.
const CLOSED: u32 = WRITER | ALL_WAITING;
/// The bits that keep a writer out.
const HELD: u32 = WRITER | ALL_READERS;

/// The keys under which threads sleep.
const READERS: u32 = 0;
const WRITERS: u32 = 1;
const UNCOUNTED: u32 = 2;

/// How long a writer sleeps at a time if it found the count of waiting writers full. No thread
/// wakes such a writer.
const NAP: Duration = Duration::from_millis(1);

/// The reader-writer lock in one word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct CompactRw<W: Wait = Park, M: Memory = Native> {
    word: M::Word,
    policy: PhantomData<W>,
}

// SAFETY: the lock is a word and nothing else, so it may be zero if words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for CompactRw<W, M> {}

impl<W: Wait, M: Memory> CompactRw<W, M> {
    /// `r,0,0 -> r+1,0,0`. A word that doesn't allow this change is the error.
    #[inline]
    fn enter(&self) -> Result<(), u32> {
        // Relaxed: the exchange orders.
        let mut word = self.word.load(Relaxed);
        while word & CLOSED == 0 && word < ALL_READERS {
            // Acquire: pairs with the Release of a writer's release.
            match self.word.exchange(word, (word & !PARKED) + READER, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
        Err(word)
    }

    /// `0,w,0 -> 0,w,1` if `waiting` is 0. `0,w,0 -> 0,w-1,1` if `waiting` is [`WAITING`], for a
    /// writer that was counted as waiting. Sets the mark if `slept` is [`PARKED`].
    #[inline]
    fn take(&self, waiting: u32, slept: u32) -> bool {
        // Relaxed: the exchange orders.
        let mut word = self.word.load(Relaxed);
        while word & HELD == 0 {
            // By (4) the mark of a word that keeps no reader out is outdated.
            let mark = if word & CLOSED == 0 { 0 } else { word & PARKED };
            let new = ((word & !PARKED) - waiting + WRITER) | mark | slept;
            // Acquire: pairs with the Release of readers' and writers' releases.
            match self.word.exchange(word, new, Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether one more waiting writer may be counted.
    fn has_room(word: u32) -> bool {
        word & ALL_WAITING != ALL_WAITING
    }

    /// `r,w,s -> r,w+1,s`, if there is room for it.
    fn count(&self) -> bool {
        // Relaxed, both: it publishes nothing.
        let mut word = self.word.load(Relaxed);
        while Self::has_room(word) {
            match self.word.exchange(word, word + WAITING, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[cold]
    fn contend(&self, deadline: Option<Duration>) -> bool {
        let mut expired = false;
        while !self.take(0, 0) {
            if expired {
                return false;
            }
            if self.count() {
                return self.contend_counted(deadline);
            }
            let nap = M::now().saturating_add(NAP);
            let until = deadline.map_or(nap, |deadline| deadline.min(nap));
            let free = |word| word & HELD == 0 || Self::has_room(word);
            let waited = Park::wait::<M>(&self.word, UNCOUNTED, Some(until), free);
            expired = waited.is_none() && Some(until) == deadline;
        }
        true
    }

    fn contend_counted(&self, deadline: Option<Duration>) -> bool {
        // `PARKED` after this thread has slept. The thread then sets the mark again, since others
        // may still sleep (2).
        let mut slept = 0;
        let free = |word| word & HELD == 0;
        while let Some(mark) = Park::wait::<M>(&self.word, WRITERS, deadline, free) {
            slept |= mark;
            if self.take(WAITING, slept) {
                return true;
            }
        }
        self.give_up();
        false
    }

    /// `r,w,s -> r,w-1,s`
    fn give_up(&self) {
        // Relaxed, both: it publishes nothing.
        let mut word = self.word.load(Relaxed);
        loop {
            let left = word - WAITING;
            let opens = left & CLOSED == 0;
            let new = if opens { left & !(PARKED | READER_WAITS) } else { left };
            match self.word.exchange(word, new, Relaxed) {
                Ok(_) if opens && left & PARKED != 0 => {
                    return M::unpark(self.word.address(), Some(READERS), u32::MAX);
                }
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// `r,w,1 -> r,w,0`
    #[cold]
    fn leave(&self) {
        let address = self.word.address();
        // Relaxed: the exchange orders.
        let mut word = self.word.load(Relaxed);
        loop {
            let left = word - WRITER;
            // If no writer waits, all sleeping readers are woken (3). Otherwise one writer is
            // woken, and the mark is cleared (2) unless readers need it.
            let new = if left & ALL_WAITING == 0 {
                0
            } else if left & READER_WAITS == 0 {
                left & !PARKED
            } else {
                left
            };
            // Release: pairs with the Acquire of `enter` and `take`.
            match self.word.exchange(word, new, Release) {
                Ok(_) if left & PARKED != 0 => return Self::wake(address, left),
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Shares the lock. Returns `false` if there are too many readers to count.
    #[inline]
    fn share(&self) -> bool {
        // The exchange comes without a look at the word, since reading a line that was just written
        // costs more than a failed exchange. Acquire: as in `enter`.
        if self.word.exchange(0, READER, Acquire).is_err() && self.enter().is_err() {
            return self.contend_shared(None);
        }
        true
    }

    /// Waits for a share. Returns `false` if the deadline has passed, or if there are too many
    /// readers to count.
    #[cold]
    fn contend_shared(&self, deadline: Option<Duration>) -> bool {
        loop {
            self.wait_as_reader();
            // Without `READER_WAITS`, no thread would wake us.
            let go_on = |word| word & CLOSED == 0 || word & READER_WAITS == 0;
            if Park::wait::<M>(&self.word, READERS, deadline, go_on).is_none() {
                return false;
            }
            match self.enter() {
                Ok(()) => return true,
                Err(word) if word >= ALL_READERS => return false,
                Err(_) => {}
            }
        }
    }

    /// Sets `READER_WAITS` in a word that keeps readers out.
    fn wait_as_reader(&self) {
        // Relaxed, both: it publishes nothing.
        let mut word = self.word.load(Relaxed);
        while word & CLOSED != 0 && word & READER_WAITS == 0 {
            match self.word.exchange(word, word | READER_WAITS, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Wakes the threads that may enter, after the last thread has left. `word` is the lock's state
    /// without that thread. The lock may already be freed.
    #[cold]
    fn wake(address: Address, word: u32) {
        if word & ALL_WAITING != 0 {
            M::unpark(address, Some(WRITERS), 1);
        } else {
            M::unpark(address, Some(READERS), u32::MAX);
        }
    }
}

// SAFETY: a writer enters when no thread is inside, and no thread enters while it is inside. All
// changes of the word are atomic additions and exchanges; so the Acquire of the thread that enters
// sees the Release of all threads that have left.
unsafe impl<W: Wait, M: Memory> RawLock for CompactRw<W, M> {
    type Memory = M;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        // Acquire: as in `take`.
        if self.word.exchange(0, WRITER, Acquire).is_err() {
            self.contend(None);
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        // Release: pairs with the Acquire of `enter` and `take`.
        if self.word.exchange(WRITER, 0, Release).is_err() {
            self.leave();
        }
    }
}

// SAFETY: a reader enters while no writer is inside, and no writer enters until it has left.
unsafe impl<W: Wait, M: Memory> RawSharedLock for CompactRw<W, M> {
    type SharedNode = ();

    /// Acquires the lock for reading, as [`RawSharedLock`] requires.
    ///
    /// # Panics
    ///
    /// If 524,287 readers are inside.
    #[inline]
    unsafe fn acquire_shared(&self, (): &()) {
        assert!(self.share(), "too many readers to count");
    }

    #[inline]
    unsafe fn release_shared(&self, (): &()) {
        let address = self.word.address();
        // Release: pairs with the Acquire of `take`.
        let word = self.word.fetch_sub(READER, Release) - READER;
        // If no writer waits, no reader sleeps either.
        if word & PARKED != 0 && word & ALL_WAITING != 0 && word < READER {
            Self::wake(address, word);
        }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for CompactRw<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take(0, 0)
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for CompactRw<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        self.take(0, 0) || self.contend(Some(deadline))
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TrySharedLock for CompactRw<W, M> {
    #[inline]
    unsafe fn try_acquire_shared(&self, (): &()) -> bool {
        self.enter().is_ok()
    }

    #[inline]
    unsafe fn acquire_shared_if_counted(&self, (): &()) -> bool {
        self.share()
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedSharedLock for CompactRw<W, M> {
    #[inline]
    unsafe fn acquire_shared_until(&self, (): &(), deadline: Duration) -> bool {
        self.enter().is_ok() || self.contend_shared(Some(deadline))
    }
}

// SAFETY: the writer goes and the reader comes in one step, and the reader keeps writers out.
unsafe impl<W: Wait, M: Memory> Downgrade for CompactRw<W, M> {
    /// `0,w,1 -> 1,w,0`
    ///
    /// Writers that wait keep further readers out, as before. If no writer waits, all sleeping
    /// readers are woken.
    unsafe fn downgrade(&self, (): &(), (): &()) {
        let address = self.word.address();
        // Relaxed: the exchange orders.
        let mut word = self.word.load(Relaxed);
        loop {
            let left = word - WRITER + READER;
            let reads = if left & ALL_WAITING == 0 { READER } else { left };
            // Release: pairs with the Acquire of `enter`. A later writer sees our section by our
            // release as a reader.
            match self.word.exchange(word, reads, Release) {
                // (3): we kept these readers out.
                Ok(_) if reads == READER && left & PARKED != 0 => {
                    return M::unpark(address, Some(READERS), u32::MAX);
                }
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

impl<W: Wait, M: Memory> Described for CompactRw<W, M> {
    const ABOUT: About = About {
        idea: "one word counts the readers inside and the writers that wait",
        algorithm: Algorithm::ReaderWriter,
        order: Order::WritersFirst,
        numa: false,
        advice: "the default for sharing; a word, and sleepers cost nothing",
        source: "common practice",
    };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Mutex;
    use std::thread;

    use super::*;

    fn until(done: impl Fn() -> bool) {
        while !done() {
            thread::yield_now();
        }
    }

    fn with_word(word: u32) -> CompactRw {
        let lock = <CompactRw>::default();
        lock.word.store(word, Relaxed);
        lock
    }

    #[test]
    fn readers_wait_for_a_waiting_writer() {
        let (lock, log) = (<CompactRw>::default(), Mutex::new(std::vec::Vec::new()));
        // SAFETY: there are no nodes; each acquisition is released.
        unsafe {
            lock.acquire_shared(&());
            assert!(lock.try_acquire_shared(&()));
            lock.release_shared(&());
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: as above.
                unsafe { lock.acquire(&()) };
                log.lock().unwrap().push("writer");
                // SAFETY: as above.
                unsafe { lock.release(&()) };
            });
            until(|| lock.word.load(Relaxed) & ALL_WAITING == WAITING);
            // SAFETY: it isn't acquired.
            assert!(!unsafe { lock.try_acquire_shared(&()) });
            let reader = scope.spawn(|| {
                // SAFETY: as above.
                unsafe { lock.acquire_shared(&()) };
                log.lock().unwrap().push("reader");
                // SAFETY: as above.
                unsafe { lock.release_shared(&()) };
            });
            until(|| lock.word.load(Relaxed) & PARKED != 0);
            assert!(!reader.is_finished());
            // SAFETY: as above.
            unsafe { lock.release_shared(&()) };
        });
        assert_eq!(*log.lock().unwrap(), ["writer", "reader"]);
        assert_eq!(lock.word.load(Relaxed), 0);
    }

    #[test]
    fn readers_that_cannot_be_counted_are_refused() {
        let lock = with_word(ALL_READERS - READER);
        // SAFETY: there are no nodes; the word is made up.
        unsafe {
            lock.acquire_shared(&());
            assert!(!lock.try_acquire_shared(&()));
            assert!(catch_unwind(|| lock.acquire_shared(&())).is_err());
            assert!(!lock.acquire_shared_until(&(), Duration::MAX));
            assert!(!lock.acquire_shared_if_counted(&()));
            assert_eq!(lock.word.load(Relaxed), ALL_READERS);
            lock.release_shared(&());
        }
    }

    #[test]
    fn writers_that_cannot_be_counted_get_it_too() {
        let lock = with_word(ALL_WAITING | WRITER);
        thread::scope(|scope| {
            // SAFETY: there are no nodes; the word is made up.
            unsafe { assert!(!lock.acquire_until(&(), Native::now() + 3 * NAP)) };
            // SAFETY: as above.
            scope.spawn(|| unsafe { lock.acquire(&()) });
            until(|| lock.word.load(Relaxed) & PARKED != 0);
            // SAFETY: as above.
            unsafe { lock.release(&()) };
        });
        assert_eq!(lock.word.load(Relaxed) & !PARKED, ALL_WAITING | WRITER);
    }
}
