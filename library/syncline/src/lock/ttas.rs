//! Test-and-test-and-set with exponential back-off: waiters read until the lock looks free, and
//! those that lose the race for it back off. Each back-off is twice as long as the one before, up
//! to a limit.
//!
//! Reading keeps the line shared among the waiters while the lock is held. The back-off keeps the
//! waiters from all trying at once when the lock is released. No other lock is smaller, or quicker
//! while it is uncontended. The lock is not fair: a thread near the line gets the lock sooner, and
//! a thread that has backed off for long may never get it. With many waiters use a queue lock.
//!
//! Source: SSYNC (SOSP'13), section 4.1; Anderson, "The Performance of Spin Lock Alternatives for
//! Shared-Memory Multiprocessors" (1990).

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

/// The longest back-off, in transfers of a line: about the time in which all cores of a large
/// socket can try once.
const LONGEST_BACK_OFF: u32 = 32;

/// The test-and-test-and-set lock with exponential back-off.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Ttas<W: Wait = Park, M: Memory = Native> {
    word: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: the lock is a word and nothing else, so it may be zero if words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Ttas<W, M> {}

impl<W: Wait, M: Memory> Ttas<W, M> {
    #[inline]
    fn take(&self) -> bool {
        // Acquire: pairs with the Release of `hand_over`.
        self.word.exchange(FREE, HELD, Acquire).is_ok()
    }

    #[cold]
    fn contend(&self, deadline: Option<Duration>) -> bool {
        let mut slept = 0;
        let mut back_off = 1;
        loop {
            match W::wait::<M>(&self.word, 0, deadline, |value| value == FREE) {
                Some(mark) => slept |= mark,
                None => return false,
            }
            if self.take() {
                break;
            }
            M::delay(back_off);
            back_off = (back_off * 2).min(LONGEST_BACK_OFF);
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
unsafe impl<W: Wait, M: Memory> RawLock for Ttas<W, M> {
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
unsafe impl<W: Wait, M: Memory> TryLock for Ttas<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take()
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for Ttas<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        self.take() || self.contend(Some(deadline))
    }
}

impl<W: Wait, M: Memory> Described for Ttas<W, M> {
    const ABOUT: About = About {
        idea: "one word; waiters read it until it is free, losers back off",
        algorithm: Algorithm::Flag,
        order: Order::Any,
        numa: false,
        advice: "short sections with few waiters; the smallest lock",
        source: "Anderson 1990; SSYNC 4.1",
    };
}
