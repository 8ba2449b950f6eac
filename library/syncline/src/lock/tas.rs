//! Test-and-set: one word, which each thread that wants the lock tries to set.
//!
//! Each try is a compare-exchange. It requests the line for writing even if it fails, so waiting
//! threads pull the line from each other and from the holder. Only after many failed tries does a
//! thread wait as its policy says. Use this lock where contention is rare and memory is scarce, and
//! as the baseline for the others. Under contention use [`Ttas`](super::Ttas) or a queue lock.
//!
//! Source: SSYNC (SOSP'13), section 4.1.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::{RawLock, TimedLock, TryLock};
use crate::memory::{Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

const FREE: u32 = 0;
const HELD: u32 = 2;

/// The test-and-set lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Tas<W: Wait = Park, M: Memory = Native> {
    word: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: the lock is a word and nothing else, so it may be zero if words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Tas<W, M> {}

impl<W: Wait, M: Memory> Tas<W, M> {
    #[inline]
    fn take(&self) -> bool {
        // A compare-exchange, since a swap could overwrite a sleeper's mark. Acquire: pairs with
        // the Release of `hand_over`.
        self.word.exchange(FREE, HELD, Acquire).is_ok()
    }

    #[cold]
    fn contend(&self, deadline: Option<Duration>) -> bool {
        let mut tries = 1;
        let mut slept = 0;
        loop {
            if tries < M::PATIENCE {
                W::pause_at::<M, _>(&self.word, tries);
                tries += 1;
            } else {
                match W::wait::<M>(&self.word, 0, deadline, |value| value == FREE) {
                    Some(mark) => slept |= mark,
                    None => return false,
                }
                tries = 1;
            }
            if self.take() {
                break;
            }
        }
        if slept == PARKED {
            // Others may still sleep, and their mark was cleared when we were woken. Relaxed: only
            // our own release needs to see the mark.
            self.word.fetch_or(PARKED, Relaxed);
        }
        true
    }
}

// SAFETY: only one thread changes the word from free to held, and only the holder changes it
// back. Acquire in `take`, Release in `hand_over`.
unsafe impl<W: Wait, M: Memory> RawLock for Tas<W, M> {
    type Memory = M;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.take() {
            self.contend(None);
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        W::hand_over::<M>(&self.word, FREE);
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for Tas<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take()
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for Tas<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        self.take() || self.contend(Some(deadline))
    }
}

impl<W: Wait, M: Memory> Described for Tas<W, M> {
    const ABOUT: About = About {
        idea: "one word, which every waiter tries to set again and again",
        algorithm: Algorithm::Flag,
        order: Order::Any,
        numa: false,
        advice: "rarely contended; otherwise a baseline to compare with",
        source: "SSYNC 4.1",
    };
}
