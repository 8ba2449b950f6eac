//! The futex mutex: one word with three states, whose waiters sleep in the kernel.
//!
//! The C library and the standard library have this lock; here it is the baseline for the others.
//! Without contention an acquisition is a compare-and-exchange and a release is a swap. The third
//! state says that a waiter may be asleep; only in this state does a release enter the kernel. A
//! thread that is woken competes with newcomers, so a waiter may starve. In return, newcomers can
//! take the lock while a woken waiter gets back onto a processor.
//!
//! Waiters always park. The lock has a waiting policy only because all locks of the catalogue have
//! one; the policy changes nothing.
//!
//! ```text
//!   acquire   FREE -> HELD                otherwise, after some looks:
//!             any -> CONTENDED            and has the lock if it was FREE, else sleeps
//!   release   HELD -> FREE                CONTENDED -> FREE, and wakes one
//! ```
//!
//! A thread that was woken takes the lock as CONTENDED, since it can't know whether others still
//! sleep. A thread that gives up leaves the state CONTENDED behind. At worst the next release then
//! makes a wake-up call that wakes no thread.
//!
//! Source: Drepper, "Futexes Are Tricky" (2011), the third of its mutexes.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::{RawLock, TimedLock, TryLock};
use crate::memory::{Memory, Native, Word};
use crate::wait::{Park, Wait};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a waiter may sleep.
const CONTENDED: u32 = 2;

/// The three-state futex mutex.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Futex<W: Wait = Park, M: Memory = Native> {
    word: M::Word,
    policy: PhantomData<W>,
}

// SAFETY: the lock is a word and nothing else, so it may be zero if words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Futex<W, M> {}

impl<W: Wait, M: Memory> Futex<W, M> {
    #[inline]
    fn take(&self) -> bool {
        // Acquire: pairs with the Release in `release`.
        self.word.exchange(FREE, HELD, Acquire).is_ok()
    }

    #[cold]
    fn contend(&self, deadline: Option<Duration>) -> bool {
        if self.spin() {
            return true;
        }
        // The swap comes before the look at the clock. So a thread that was woken either gets the
        // lock, or leaves the state CONTENDED, so that the next release wakes another waiter.
        // Acquire: as in `take`.
        while self.word.swap(CONTENDED, Acquire) != FREE {
            if deadline.is_some_and(|deadline| M::now() >= deadline) {
                return false;
            }
            M::park(&self.word, CONTENDED, 0, deadline);
        }
        true
    }

    /// Spins for a while, unless others may sleep already. Returns whether this thread got the
    /// lock.
    fn spin(&self) -> bool {
        for looks in 1..M::PATIENCE {
            // Relaxed: the exchange orders.
            match self.word.load(Relaxed) {
                FREE if self.take() => return true,
                CONTENDED => return false,
                _ => M::pause_at(&self.word, looks),
            }
        }
        false
    }
}

// SAFETY: only one thread changes the word from free to another state, and only the holder
// changes it back. Acquire in `take` and `contend`, Release in `release`.
unsafe impl<W: Wait, M: Memory> RawLock for Futex<W, M> {
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
        let address = self.word.address();
        // Release: pairs with the Acquire in `take` and `contend`. The lock may be freed after
        // this.
        if self.word.swap(FREE, Release) == CONTENDED {
            M::unpark(address, Some(0), 1);
        }
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TryLock for Futex<W, M> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take()
    }
}

// SAFETY: as above.
unsafe impl<W: Wait, M: Memory> TimedLock for Futex<W, M> {
    #[inline]
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        self.take() || self.contend(Some(deadline))
    }
}

impl<W: Wait, M: Memory> Described for Futex<W, M> {
    const ABOUT: About = About {
        idea: "one word of three states; waiters sleep in the kernel",
        algorithm: Algorithm::Flag,
        order: Order::Any,
        numa: false,
        advice: "the blocking baseline; rarely contended locks of any length",
        source: "Drepper 2011",
    };
}
