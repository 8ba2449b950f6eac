//! The ring of a channel of many senders and many receivers.
//!
//! ```text
//!   tail   how many messages have a slot so far: the number of the next to be sent
//!   head   how many of them receivers have claimed: the number of the next to be received
//!   turn   of each slot: 2n if free for its n-th message (n from 0); 2n + 1 if that is there
//! ```
//!
//! A sender claims a number by raising `tail`, if the number's slot is free. Only this sender may
//! now write the slot's message. After writing, the sender hands the slot to the receivers by
//! setting the slot's turn. A receiver does the same with `head`. So two senders contend for `tail`
//! only, and a sender and a receiver for slots only, unless the ring looks full or empty.
//!
//! 1. **Turns only grow**, and the thread that has claimed a number is the only one to change its
//!    slot's turn next. So no exchange of `tail` or `head` succeeds with an outdated number: for
//!    that the number would have to recur, and numbers have 64 bits.
//! 2. The ring is **empty** for a receiver if the slot's message has not come and `tail` says that
//!    no sender has claimed the message's number. If a sender has claimed the number, the message
//!    is under way, and the receiver polls for it: if the receiver slept instead, it would not be
//!    woken for the messages behind this one. The ring is **full** for a sender by the same rule.
//!
//! Not lock-free: a sender that loses its processor after it has claimed a number, and before it
//! sets the slot's turn, holds up the receivers that come to the slot. They poll for a while and
//! then yield, whatever the channel's policy of waiting is.
//!
//! Sources: slots with turns are from the queue of Gottlieb, Lubachevsky and Rudolph, "Basic
//! Techniques for the Efficient Coordination of Very Large Numbers of Cooperating Sequential
//! Processors", ACM TOPLAS 5(2), 1983; claiming a number by an exchange after the slot was seen to
//! be free, which makes tries possible, is from Vyukov's bounded queue of 2010.

use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::memory::{Data, Long, LongMemory, Padded};
use crate::wait::{Wait, Yield};

/// A ring with a power of two of slots.
pub struct Queue<T, M: LongMemory> {
    tail: Padded<M::Long>,
    head: Padded<M::Long>,
    slots: Box<[Slot<T, M>]>,
}

struct Slot<T, M: LongMemory> {
    turn: M::Long,
    message: M::Data<MaybeUninit<T>>,
}

// SAFETY: a message goes from one thread to another, which its type allows, and only the thread
// that has claimed a number uses the number's slot.
unsafe impl<T: Send, M: LongMemory> Sync for Queue<T, M> {}
// SAFETY: as above.
unsafe impl<T: Send, M: LongMemory> Send for Queue<T, M> {}

impl<T, M: LongMemory> Queue<T, M> {
    /// An empty ring with at least this many slots.
    pub fn with_capacity(messages: usize) -> Self {
        let slot = |_| Slot { turn: M::Long::default(), message: Data::new(MaybeUninit::uninit()) };
        let slots = (0..messages.next_power_of_two()).map(slot).collect();
        Self { tail: Padded::default(), head: Padded::default(), slots }
    }

    /// How many slots there are.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a number, and the slot's turn while it is free for that number.
    #[inline]
    fn slot(&self, number: u64) -> (&Slot<T, M>, u64) {
        let count = self.slots.len();
        let slot = &self.slots[number as usize & (count - 1)];
        (slot, (number >> count.trailing_zeros()) * 2)
    }

    /// Puts a message in. If there is no room, returns the message as the error.
    #[inline]
    pub fn push(&self, message: T) -> Result<(), T> {
        let mut looks = 0;
        loop {
            // Relaxed: the exchange checks the value.
            let number = self.tail.load(Relaxed);
            let (slot, free) = self.slot(number);
            // Acquire: pairs with the Release of the receiver, which is done with the slot.
            let turn = slot.turn.load(Acquire);
            // Relaxed: the turn carries the message.
            if turn == free && self.tail.exchange(number, number + 1, Relaxed).is_ok() {
                // SAFETY: we have claimed the number, and the slot is free.
                unsafe { slot.message.with(|to| (*to).write(message)) };
                // Release: pairs with the Acquire in `pop`.
                slot.turn.store(free + 1, Release);
                return Ok(());
            }
            // Relaxed: a thread that goes to sleep has executed a barrier before; others may learn
            // of the room late.
            if turn < free && self.head.load(Relaxed) + self.slots.len() as u64 == number {
                return Err(message);
            }
            looks += 1;
            Yield::pause::<M>(looks);
        }
    }

    /// Takes a message out, if there is one.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        let mut looks = 0;
        loop {
            // Relaxed: the exchange checks the value.
            let number = self.head.load(Relaxed);
            let (slot, free) = self.slot(number);
            // Acquire: pairs with the Release in `push`: the message is there.
            let turn = slot.turn.load(Acquire);
            // Relaxed: the turn carries the room.
            if turn == free + 1 && self.head.exchange(number, number + 1, Relaxed).is_ok() {
                // SAFETY: we have claimed the number, and the message is there.
                let message = unsafe { slot.message.with(|from| (*from).assume_init_read()) };
                // Release: pairs with the Acquire in `push`.
                slot.turn.store(free + 2, Release);
                return Some(message);
            }
            // Relaxed: as in `push`.
            if turn == free && self.tail.load(Relaxed) == number {
                return None;
            }
            looks += 1;
            Yield::pause::<M>(looks);
        }
    }
}

impl<T, M: LongMemory> Drop for Queue<T, M> {
    fn drop(&mut self) {
        while let Some(message) = self.pop() {
            drop(message);
        }
    }
}
