//! SSYNC's channel: one buffer, a cache line with the flags in it.
//!
//! A message takes two transfers of the line: the sender fetches it to see that it is empty, and
//! writes; the receiver fetches it to see that it is full, and reads. There is room for one
//! message, so a sender that has room knows that its previous message was taken. Use it for
//! latency, for round trips, and if the sender waits for a reply anyway; for throughput use a
//! [`Ring`](super::Ring).
//!
//! Each side reads the line before it writes to it. A machine that shares the line for the read has
//! to invalidate the other copy for the write. So by default both sides fetch the line for writing
//! from the start, as SSYNC does on the Opteron. [`Shared`] does not; it is there for comparison.
//!
//! Source: SSYNC (SOSP'13), sections 4.1, 5.3 and 6.2.

use core::fmt::{self, Debug};
use core::marker::PhantomData;
use core::sync::atomic::Ordering::Acquire;
use core::task::Waker;
use core::time::Duration;

use super::bell::Bell;
use super::line::{Flags, GONE, Position, STEP, Units, number};
use super::news::{poll, post, wait_fetching};
use super::patience::Patience;
use super::raw::{Look, RawChannel};
use crate::memory::{Memory, Native, Word};
use crate::wait::{Park, Wait};

/// A channel with room for one message.
pub struct Single<T, W: Wait = Park, M: Memory = Native, F: Fetch = Exclusive> {
    unit: Units<T, M>,
    policies: PhantomData<(W, F)>,
}

/// How a side gets the line before it looks at it.
pub trait Fetch: Debug + Default + Send + Sync + 'static {
    /// Gets the line of this word.
    fn fetch<M: Memory>(word: &M::Word);
}

/// Fetches the line for writing, since a write follows.
#[derive(Debug, Default)]
pub struct Exclusive;

impl Fetch for Exclusive {
    #[inline(always)]
    fn fetch<M: Memory>(word: &M::Word) {
        M::prefetch_for_write(word);
    }
}

/// Fetches nothing ahead: the ordinary read shares the line until the write.
#[derive(Debug, Default)]
pub struct Shared;

impl Fetch for Shared {
    #[inline(always)]
    fn fetch<M: Memory>(_: &M::Word) {}
}

impl<T, W: Wait, M: Memory, F: Fetch> Single<T, W, M, F> {
    #[inline(always)]
    fn flags(&self) -> &Flags<M> {
        self.unit.flags(0)
    }

    /// Whether the receiver has taken all of the sender's messages.
    #[inline(always)]
    fn room_by(taken: u32, position: &Position) -> Look {
        match () {
            () if taken & GONE != 0 => Look::Gone,
            () if number(taken) == position.number => Look::Ready,
            () => Look::NotYet,
        }
    }

    /// Whether the sender has sent more than the receiver has taken.
    #[inline(always)]
    fn message_by(sent: u32, position: &Position) -> Look {
        match () {
            () if number(sent) != position.number => Look::Ready,
            () if sent & GONE != 0 => Look::Gone,
            () => Look::NotYet,
        }
    }
}

// SAFETY: the slot is the sender's while both numbers are equal, and the receiver's while they
// differ. `sent` and `taken` are written with Release and read with Acquire.
unsafe impl<T: Send, W: Wait, M: Memory, F: Fetch> RawChannel for Single<T, W, M, F> {
    type Item = T;
    type Memory = M;
    type Wait = W;
    type Writer = Position;
    type Reader = Position;

    fn with_capacity(_: usize) -> Self {
        // A unit may have several slots; one is used.
        Self { unit: Units::new(1), policies: PhantomData }
    }

    fn capacity(&self) -> usize {
        1
    }

    #[inline]
    unsafe fn room(&self, position: &Position) -> Look {
        let taken = &self.flags().taken;
        F::fetch::<M>(taken);
        // Acquire: pairs with the Release in `release`: the receiver is done with the slot.
        Self::room_by(taken.load(Acquire), position)
    }

    #[inline]
    unsafe fn wait_for_room(
        &self,
        position: &Position,
        patience: &mut Patience,
        bell: &Bell<M>,
    ) -> Look {
        let taken = &self.flags().taken;
        let room = |taken| Self::room_by(taken, position);
        wait_fetching::<W, M>(taken, bell, patience, None, F::fetch::<M>, room)
    }

    #[cold]
    unsafe fn poll_room(&self, position: &Position, waker: &Waker, bell: &Bell<M>) -> Look {
        // SAFETY: our caller's promise.
        poll(bell, waker, || unsafe { self.room(position) })
    }

    #[inline]
    unsafe fn write(&self, position: &mut Position, message: T, bell: &Bell<M>) {
        // SAFETY: there is room, so the slot is empty and ours.
        unsafe { self.unit.write(0, 0, message) };
        position.number = position.number.wrapping_add(STEP);
        post::<W, M>(&self.flags().sent, position.number, bell);
    }

    #[inline]
    unsafe fn send(&self, position: &mut Position, message: T, bell: &Bell<M>) {
        // SAFETY: our caller's promise.
        unsafe { self.write(position, message, bell) };
    }

    #[inline(always)]
    unsafe fn publish(&self, _: &mut Position, _: &Bell<M>) {}

    unsafe fn close_writer(&self, position: &mut Position, bell: &Bell<M>) {
        post::<W, M>(&self.flags().sent, position.number | GONE, bell);
    }

    #[inline]
    unsafe fn look(&self, position: &mut Position) -> Look {
        let sent = &self.flags().sent;
        F::fetch::<M>(sent);
        // Acquire: pairs with the Release in `write`: the message is there.
        Self::message_by(sent.load(Acquire), position)
    }

    #[inline]
    unsafe fn wait(
        &self,
        position: &mut Position,
        patience: &mut Patience,
        deadline: Option<Duration>,
        bell: &Bell<M>,
    ) -> Look {
        let sent = &self.flags().sent;
        let message = |sent| Self::message_by(sent, position);
        wait_fetching::<W, M>(sent, bell, patience, deadline, F::fetch::<M>, message)
    }

    #[cold]
    unsafe fn poll(&self, position: &mut Position, waker: &Waker, bell: &Bell<M>) -> Look {
        // SAFETY: our caller's promise.
        poll(bell, waker, || unsafe { self.look(position) })
    }

    #[inline]
    unsafe fn take(&self, position: &mut Position) -> T {
        position.number = position.number.wrapping_add(STEP);
        // SAFETY: there is a message, so the slot is ours.
        unsafe { self.unit.read(0, 0) }
    }

    #[inline]
    unsafe fn release(&self, position: &mut Position, bell: &Bell<M>) {
        post::<W, M>(&self.flags().taken, position.number, bell);
    }

    unsafe fn close_reader(&self, position: &Position, bell: &Bell<M>) {
        post::<W, M>(&self.flags().taken, position.number | GONE, bell);
    }
}

impl<T, W: Wait, M: Memory, F: Fetch> fmt::Debug for Single<T, W, M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Single").finish_non_exhaustive()
    }
}
