//! Anderson's array lock: waiters draw tickets, and each waits on a slot of its own.
//!
//! As in the ticket lock, each waiter draws a number. But each number is announced in a slot that
//! has lines of its own. A hand-over moves one line, as in a queue of nodes. There is no node to
//! allocate, and no moment in which a neighbour isn't linked yet. The price is the array in every
//! lock: two kilobytes with 16 slots. So the lock suits the few hot locks of a program, and does
//! not suit programs with a lock per object.
//!
//! A slot holds the ticket that was let in through it last. So more waiters than slots do no harm:
//! some waiters then share a slot, and each looks again when another one is let in through it.
//!
//! Source: Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors"
//! (1990), which is Algorithm 3 of Mellor-Crummey and Scott (1991); SSYNC (SOSP'13), section 4.1.
//! In these sources a slot holds a flag, and more waiters than slots break the lock.

use core::array;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::{Contended, RawLock, TryLock};
use crate::memory::{Data, Memory, Native, Padded, Word};
use crate::wait::{PARKED, Park, Wait};

/// The step by which tickets grow. It leaves bit 0 to the waiting policy.
const STEP: u32 = 2;

/// Anderson's array lock with `N` slots, a power of two.
#[derive(Debug)]
#[repr(C)]
pub struct Anderson<W: Wait = Park, M: Memory = Native, const N: usize = 16> {
    /// The next ticket to be drawn.
    next: M::Word,
    /// The ticket that was let in last through each slot. In a fresh lock, ticket 0 counts as let
    /// in.
    slots: [Padded<M::Word>; N],
    wait: PhantomData<W>,
}

/// The holder's ticket.
#[derive(Debug)]
pub struct Node<M: Memory>(M::Data<u32>);

impl<M: Memory> Default for Node<M> {
    fn default() -> Self {
        Self(M::Data::new(0))
    }
}

impl<W: Wait, M: Memory, const N: usize> Default for Anderson<W, M, N> {
    fn default() -> Self {
        let slots = array::from_fn(|_| Padded::default());
        Self { next: M::Word::default(), slots, wait: PhantomData }
    }
}

// SAFETY: words and padding, so it may be zero when its words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>, const N: usize> Zeroable for Anderson<W, M, N> {}

impl<W: Wait, M: Memory, const N: usize> Anderson<W, M, N> {
    /// The slot where a ticket is let in. Tickets wrap around, so `N` must be a power of two.
    #[inline]
    fn slot(&self, ticket: u32) -> &M::Word {
        const { assert!(N.is_power_of_two() && N <= 1 << 31) };
        &self.slots[(ticket / STEP) as usize % N]
    }
}

// SAFETY: tickets are unique until they wrap around after 2^31 waiters, and only the thread whose
// ticket was let in returns from `acquire`: a holder lets in the ticket after its own, and only
// after its own ticket was let in. Holders are ordered by the slots: Acquire in `wait` and in
// `try_acquire`, Release in `announce`.
unsafe impl<W: Wait, M: Memory, const N: usize> RawLock for Anderson<W, M, N> {
    type Memory = M;
    type Node = Node<M>;

    #[inline]
    unsafe fn acquire(&self, node: &Node<M>) {
        // Relaxed: the draw orders draws only; the slots carry what holders did.
        let mine = self.next.fetch_add(STEP, Relaxed);
        W::wait::<M>(self.slot(mine), 0, None, |ticket| ticket == mine);
        // SAFETY: the node is the caller's.
        unsafe { node.0.with(|ticket| *ticket = mine) };
    }

    #[inline]
    unsafe fn release(&self, node: &Node<M>) {
        // SAFETY: the node is the holder's, our caller's.
        let mine = unsafe { node.0.with(|ticket| *ticket) };
        let next = mine.wrapping_add(STEP);
        W::announce::<M>(self.slot(next), next);
    }
}

// SAFETY: as above. If the next ticket to be drawn was let in already, no thread holds the lock or
// waits, and drawing that ticket takes the lock.
unsafe impl<W: Wait, M: Memory, const N: usize> TryLock for Anderson<W, M, N> {
    #[inline]
    unsafe fn try_acquire(&self, node: &Node<M>) -> bool {
        // Relaxed: the exchange fails if this is outdated.
        let next = self.next.load(Relaxed);
        // Acquire: pairs with the Release of `announce`. A ticket that was let in stays let in
        // until it is drawn.
        let free = self.slot(next).load(Acquire) & !PARKED == next;
        // Relaxed: as the draw in `acquire`.
        let taken = free && self.next.exchange(next, next.wrapping_add(STEP), Relaxed).is_ok();
        if taken {
            // SAFETY: the node is the caller's.
            unsafe { node.0.with(|ticket| *ticket = next) };
        }
        taken
    }
}

// SAFETY: a thread that has drawn a ticket after the holder's waits until it is let in.
unsafe impl<W: Wait, M: Memory, const N: usize> Contended for Anderson<W, M, N> {
    #[inline]
    unsafe fn is_contended(&self, node: &Node<M>) -> bool {
        // SAFETY: the node is the holder's, our caller's.
        let mine = unsafe { node.0.with(|ticket| *ticket) };
        // Relaxed: a hint, and the number only grows while we hold the lock.
        self.next.load(Relaxed) != mine.wrapping_add(STEP)
    }
}

impl<W: Wait, M: Memory, const N: usize> Described for Anderson<W, M, N> {
    const ABOUT: About = About {
        idea: "waiters draw a number, each watching a slot of its own",
        algorithm: Algorithm::Array,
        order: Order::Fifo,
        numa: false,
        advice: "a few hot locks with many waiters; takes two kilobytes",
        source: "Anderson 1990; SSYNC 4.1",
    };
}
