//! A gate before a queue: the lock for programs with more threads than processors.
//!
//! A queue lock hands over to the next waiter, wherever that is. If it sleeps, or is off its
//! processor, the lock stands idle until the scheduler brings it back: a context switch for each
//! critical section, a hundred times the section itself. Here the queue only orders those who
//! wait. The lock is a word before it, the gate, which is *released*, not handed over: whoever
//! runs can take it, a newcomer before the queue's head. The head alone watches the gate; the
//! others wait in the queue, one of any kind. So a contended gate is as quiet as a queue lock,
//! and never waits for a sleeper.
//!
//! Newcomers could overtake the head for ever. A head that was woken [`IN_VAIN`] times and found
//! the gate taken closes it to newcomers: the next release leaves it to the head.
//!
//! Acquiring needs no node, since the head leaves the queue as soon as it has the gate.
//!
//! ```text
//!   gate's word   HELD        somebody holds the lock
//!                 PARKED      the head sleeps; whoever releases wakes it
//!                 CLOSED      newcomers stay out: the head is next
//!
//!   newcomer      0 -> HELD
//!   head          0 | CLOSED -> HELD          HELD -> HELD | PARKED [| CLOSED], then sleeps
//!   release       HELD -> 0                   HELD | PARKED | CLOSED -> CLOSED, and wakes
//! ```
//!
//! Source: the idea of a spinlock before a queue is in Linux' `qspinlock` and in the LOITER lock
//! of Dice, "Malthusian Locks" (EuroSys 2017); closing the gate after waiting in vain, in Linux'
//! and Go's mutexes.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

use bytemuck::Zeroable;

use super::{About, Described, Mcs, Order, RawLock, TimedLock, TryLock};
use crate::memory::{Memory, Word};
use crate::wait::PARKED;

const HELD: u32 = 2;
const CLOSED: u32 = 4;

/// How often a head that was woken may find the gate taken before it closes it.
const IN_VAIN: u32 = 4;

/// A gate before the queue of the lock `Q`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate<Q: RawLock = Mcs> {
    word: <Q::Memory as Memory>::Word,
    queue: Q,
}

// SAFETY: zero is a free gate before a free lock.
unsafe impl<Q: RawLock<Memory: Memory<Word: Zeroable>> + Zeroable> Zeroable for Gate<Q> {}

impl<Q: RawLock> Gate<Q> {
    #[inline]
    fn take(&self) -> bool {
        // Acquire: pairs with the Release of `release`.
        self.word.exchange(0, HELD, Acquire).is_ok()
    }

    #[cold]
    fn enqueue(&self) {
        let node = Q::Node::default();
        // SAFETY: the node stays on this stack until the queue is released.
        unsafe {
            self.queue.acquire(&node);
            self.pass_as_head(None);
            self.queue.release(&node);
        }
    }

    /// Takes the gate. Only the head of the queue is here.
    fn pass_as_head(&self, deadline: Option<Duration>) -> bool {
        let mut looks = 0;
        let mut woken = 0;
        loop {
            // Relaxed: the exchange orders.
            let value = self.word.load(Relaxed);
            if value & HELD == 0 {
                // Only we close the gate, so it is open or ours. Acquire: pairs with the Release
                // of `release`.
                if self.word.exchange(value, HELD, Acquire).is_ok() {
                    return true;
                }
                continue;
            }
            looks += 1;
            if looks < Q::Memory::PATIENCE {
                Q::Memory::pause(looks);
                continue;
            }
            if deadline.is_some_and(|deadline| Q::Memory::now() >= deadline) {
                // Whoever holds the gate may believe that we sleep, and wake nobody.
                return false;
            }
            let asleep = value | PARKED | if woken < IN_VAIN { 0 } else { CLOSED };
            // Relaxed: it publishes nothing but itself, and the kernel looks again.
            if value == asleep || self.word.exchange(value, asleep, Relaxed).is_ok() {
                Q::Memory::park(&self.word, asleep, 0, deadline);
                woken += 1;
                looks = 0;
            }
        }
    }

    #[cold]
    fn release_and_wake(&self) {
        let address = self.word.address();
        // A closed gate stays closed until the head has passed. Release: pairs with the Acquire
        // in `take` and `pass_as_head`.
        if self.word.fetch_and(CLOSED, Release) & PARKED != 0 {
            Q::Memory::unpark(address, Some(0), 1);
        }
    }
}

// SAFETY: only one thread changes the word from not held to held, and only the holder changes it
// back. Acquire in `take` and `pass_as_head`, Release in `release`.
unsafe impl<Q: RawLock> RawLock for Gate<Q> {
    type Memory = Q::Memory;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.take() {
            self.enqueue();
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        // Release: pairs with the Acquire in `take` and `pass_as_head`.
        if self.word.exchange(HELD, 0, Release).is_err() {
            self.release_and_wake();
        }
    }
}

// SAFETY: as above.
unsafe impl<Q: RawLock> TryLock for Gate<Q> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take()
    }
}

// SAFETY: as above. A head that gives up opens the gate that it has closed.
unsafe impl<Q: TimedLock> TimedLock for Gate<Q> {
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        if self.take() {
            return true;
        }
        let node = Q::Node::default();
        // SAFETY: the node stays on this stack until the queue is released.
        unsafe {
            if !self.queue.acquire_until(&node, deadline) {
                return false;
            }
            let taken = self.pass_as_head(Some(deadline));
            if !taken {
                // Relaxed: it publishes nothing.
                self.word.fetch_and(!(CLOSED | PARKED), Relaxed);
            }
            self.queue.release(&node);
            taken
        }
    }
}

impl<Q: RawLock> Described for Gate<Q> {
    const ABOUT: About = About {
        idea: "a word that whoever runs may take, before a queue that orders who waits",
        order: Order::Bounded,
        numa: false,
        advice: "the default; the choice when threads may outnumber processors",
        source: "Dice 2017; Linux qspinlock",
    };
}
