//! A gate before a queue: the lock for programs with more threads than processors.
//!
//! A queue lock hands over to the next waiter, whatever that waiter is doing. If the waiter sleeps,
//! or has lost its processor, the lock is idle until the scheduler runs that thread again. Each
//! critical section then costs a context switch, which takes a hundred times as long as the section
//! itself. Here the queue only orders the threads that wait. The lock is a word before the queue,
//! the gate. A holder *releases* the gate, and does not hand it over: any running thread can take
//! it, even a newcomer that overtakes the queue's head. Of the threads in the queue, only the head
//! watches the gate. The queue can be any lock. So a contended gate causes about as little traffic
//! as a queue lock, and is not idle because a waiter sleeps.
//!
//! Newcomers could overtake the head forever. So a head that was woken `IN_VAIN` times, and found
//! the gate taken each time, closes the gate to newcomers. The next release then leaves the gate to
//! the head.
//!
//! An acquisition carries no node, since the head leaves the queue as soon as it has the gate.
//!
//! ```text
//!   gate's word   HELD        a thread holds the lock
//!                 PARKED      the head sleeps; without HELD: the head is being woken
//!                 CLOSED      newcomers stay out: the head is next
//!
//!   newcomer      *,0,0 -> 0,HELD,0              (PARKED, HELD, CLOSED)
//!   head          *,0,* -> 0,HELD,0              *,HELD,* -> PARKED,HELD,*, then sleeps
//!   release       *,HELD,* -> *,0,*              and wakes the head if there was a mark
//! ```
//!
//! Source: the idea of a spinlock before a queue is in Linux' `qspinlock` and in the LOITER lock of
//! Dice, "Malthusian Locks" (EuroSys 2017); closing the gate after waits without success is in
//! Linux' and Go's mutexes.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::clh_timed::TimedClh;
use super::raw::{RawLock, TimedLock, TryLock};
use crate::memory::{Address, Memory, Native, Own, Word};
use crate::wait::{PARKED, Park};

const HELD: u32 = 2;
const CLOSED: u32 = 4;

/// How often a head may be woken and find the gate taken before it closes the gate. In a checker's
/// memory the limit is `Memory::BATCH`, which is smaller there.
const IN_VAIN: u32 = 4;

/// A newcomer looks at the gate up to `Memory::PATIENCE / NEWCOMER_FEWER` times before it queues;
/// one with a deadline looks only once. The head, whose wait may end at any release, looks somewhat
/// more often before it sleeps: `PATIENCE / HEAD_FEWER` times. The pause between looks grows by a
/// line's transfer each time. Each look takes the line from the holder, which needs the line for
/// the release and, if the data is next to the lock, in the section. With shorter pauses, a thread
/// that acquires again and again lost up to 40 % of its throughput. In all, the head spins for
/// about as long as falling asleep and being woken takes. It does not spin for longer, since the
/// holder may have lost its processor without any waiter noticing.
const NEWCOMER_FEWER: u32 = 8;
const HEAD_FEWER: u32 = 6;

/// A gate before the queue of the lock `Q`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate<Q: RawLock = TimedClh> {
    word: <Q::Memory as Memory>::Word,
    queue: Q,
}

/// A gate before the timed CLH lock. When a waiter of this lock gives up, the waiter or the thread
/// behind it removes the waiter's node. So threads that give up again and again while the gate is
/// held for long don't use up memory.
pub type GatedClh<W = Park, M = Native> = Gate<TimedClh<W, M>>;

// SAFETY: zero is a free gate before a free lock.
unsafe impl<Q: RawLock<Memory: Memory<Word: Zeroable>> + Zeroable> Zeroable for Gate<Q> {}

impl<Q: RawLock> Gate<Q> {
    #[inline]
    fn take(&self) -> bool {
        // Acquire: pairs with the Release of `release`.
        self.word.exchange(0, HELD, Acquire).is_ok()
    }

    /// Takes the gate if none of the bits `unset` is set, and returns whether it did. Clears the
    /// other bits. If `PARKED` was set, the release that left this mark wakes the head.
    #[inline]
    fn take_if(&self, unset: u32) -> bool {
        // Relaxed: the exchange orders.
        let value = self.word.load(Relaxed);
        // Acquire: pairs with the Release of `release`.
        value & unset == 0 && self.word.exchange(value, HELD, Acquire).is_ok()
    }

    #[cold]
    fn contend(&self) {
        // `take` also fails if the gate is free and still has the mark `PARKED`, which a release
        // that wakes the head leaves.
        if self.take_if(HELD | CLOSED) {
            return;
        }
        // The holder's section may be about to end. If the head sleeps, the head has already spun
        // for longer than this loop would.
        for looks in 1..Q::Memory::PATIENCE / NEWCOMER_FEWER {
            // Relaxed: a hint.
            if self.word.load(Relaxed) & PARKED != 0 {
                break;
            }
            Q::Memory::delay(looks);
            if self.take_if(HELD | CLOSED) {
                return;
            }
        }
        let node = Own::<Q::Node, Q::Memory>::default();
        // SAFETY: the node stays until the queue is released.
        unsafe {
            self.queue.acquire(&node);
            self.pass_as_head(None);
            self.queue.release(&node);
        }
    }

    /// Waits for the gate and takes it. Returns `false` if the deadline passed first. Only the head
    /// of the queue calls this.
    fn pass_as_head(&self, deadline: Option<Duration>) -> bool {
        let mut looks = 0;
        let mut woken = 0;
        let in_vain = IN_VAIN.min(Q::Memory::BATCH);
        loop {
            // Only the head, this thread, closes the gate. So the gate is open, or closed to all
            // threads but us.
            if self.take_if(HELD) {
                return true;
            }
            looks += 1;
            if looks < Q::Memory::PATIENCE / HEAD_FEWER {
                Q::Memory::delay(looks);
                continue;
            }
            if deadline.is_some_and(|deadline| Q::Memory::now() >= deadline) {
                // The holder of the gate may still believe that this thread sleeps, and make a
                // wake-up call that wakes no thread.
                return false;
            }
            // Relaxed: the exchange orders.
            let value = self.word.load(Relaxed);
            if value & HELD == 0 {
                continue;
            }
            let asleep = value | PARKED | if woken < in_vain { 0 } else { CLOSED };
            // Relaxed: the exchange publishes nothing else, and the kernel checks the word again.
            if value == asleep || self.word.exchange(value, asleep, Relaxed).is_ok() {
                Q::Memory::park(&self.word, asleep, 0, deadline);
                woken += 1;
                looks = 0;
            }
        }
    }
}

// SAFETY: only one thread changes the word from not held to held, and only the holder changes it
// back. Acquire in `take` and `take_if`, Release in `release`.
unsafe impl<Q: RawLock> RawLock for Gate<Q> {
    type Memory = Q::Memory;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.take() {
            self.contend();
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let address = self.word.address();
        // The marks stay, since the word may be freed after the subtraction. Release: pairs with
        // the Acquire in `take` and `take_if`.
        if self.word.fetch_sub(HELD, Release) != HELD {
            wake::<Q::Memory>(address);
        }
    }
}

// SAFETY: as above.
unsafe impl<Q: RawLock> TryLock for Gate<Q> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take() || self.take_if(HELD | CLOSED)
    }
}

// SAFETY: as above. A head that gives up opens the gate that it has closed.
unsafe impl<Q: TimedLock> TimedLock for Gate<Q> {
    unsafe fn acquire_until(&self, (): &(), deadline: Duration) -> bool {
        if self.take() {
            return true;
        }
        let node = Own::<Q::Node, Q::Memory>::default();
        // SAFETY: the node stays until the queue is released.
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

/// Wakes the head if it sleeps.
#[cold]
fn wake<M: Memory>(gate: Address) {
    M::unpark(gate, Some(0), 1);
}

impl<Q: RawLock> Described for Gate<Q> {
    const ABOUT: About = About {
        idea: "a word that any running thread may take, before a queue for the waiters",
        algorithm: Algorithm::Gate,
        order: Order::Bounded,
        numa: false,
        advice: "the default; the choice when threads may outnumber processors",
        source: "Dice 2017; Linux qspinlock",
    };
}
