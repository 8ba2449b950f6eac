//! One receiver of many senders, each with a channel of its own.
//!
//! A sender disturbs no other one: what is shared is the receiver's attention. It looks at its
//! channels in turn, beginning behind the one that was served last, so that a busy sender holds
//! nobody up. A look at a channel without news is a look into the receiver's own cache.
//!
//! Source: SSYNC (SOSP'13), section 4.1: receiving from any other thread, or from a subset.

use alloc::vec::Vec;
use core::fmt;

use super::counted::Counted;
use super::ends::with_bell;
use super::news::mark;
use super::{Bell, Look, NoSlot, RawChannel, Receiver, RecvError, Ring, Sender, TryRecvError};
use crate::memory::Memory;
use crate::wait::Wait;

/// Receives from several senders. Dropping it disconnects all of them.
pub struct Inbox<T: Send, Q: RawChannel<Item = T> = Ring<T>> {
    slots: Vec<Option<Receiver<T, Q>>>,
    capacity: usize,
    bell: Counted<Bell<Q::Memory>, Q::Memory>,
    /// The slot to look at first.
    next: usize,
}

impl<T: Send> Inbox<T> {
    /// An inbox with so many slots for senders, each with room for so many messages.
    ///
    /// # Panics
    ///
    /// If there are no slots, or there is no room for messages.
    pub fn new(slots: usize, capacity: usize) -> Self {
        Self::over(slots, capacity)
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Inbox<T, Q> {
    /// As [`new`](Inbox::new), with channels of this kind.
    ///
    /// # Panics
    ///
    /// As [`new`](Inbox::new).
    pub fn over(slots: usize, capacity: usize) -> Self {
        assert!(slots > 0, "an inbox needs a slot for a sender at least");
        assert!(capacity > 0, "a channel needs room for a message at least: its capacity is 0");
        let bell = Counted::new(Bell::default());
        Self { slots: (0..slots).map(|_| None).collect(), capacity, bell, next: 0 }
    }

    /// A new sender, and its slot. A slot is free again when its sender is gone, and
    /// its messages were received.
    ///
    /// # Errors
    ///
    /// If all slots are taken.
    pub fn connect(&mut self) -> Result<(usize, Sender<T, Q>), NoSlot> {
        let free = self.slots.iter().position(Option::is_none).or_else(|| {
            self.slots.iter_mut().position(|slot| {
                slot.as_mut().is_some_and(|receiver| receiver.look() == Look::Gone)
            })
        });
        let slot = free.ok_or(NoSlot(self.slots.len()))?;
        let (sender, receiver) = with_bell(self.capacity, Some(self.bell.share()));
        self.slots[slot] = Some(receiver);
        Ok((slot, sender))
    }

    /// Waits for a message from anybody, and says from which slot it is.
    ///
    /// # Errors
    ///
    /// If all senders are gone and all their messages were received, or there was none.
    pub fn recv(&mut self) -> Result<(usize, T), RecvError> {
        let slots = self.slots.len();
        self.wait(|inbox| inbox.look(inbox.next, slots))
    }

    /// Waits for a message from one of these slots.
    ///
    /// # Errors
    ///
    /// If the senders of all these slots are gone and their messages were received.
    ///
    /// # Panics
    ///
    /// If there is no slot of a number.
    pub fn recv_from(&mut self, slots: &[usize]) -> Result<(usize, T), RecvError> {
        self.wait(|inbox| inbox.look_at(slots.iter().copied()))
    }

    /// Takes a message if anybody has sent one.
    ///
    /// # Errors
    ///
    /// If there is none, or as [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<(usize, T), TryRecvError> {
        match self.look(self.next, self.slots.len()) {
            Found::Message(slot, message) => Ok((slot, message)),
            Found::NotYet => Err(TryRecvError::Empty),
            Found::Gone => Err(TryRecvError::Disconnected),
        }
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Looks at all slots once, from one on.
    fn look(&mut self, first: usize, slots: usize) -> Found<T> {
        self.look_at((first..slots).chain(0..first))
    }

    /// Looks at slots in this order, until there is a message.
    #[inline]
    fn look_at(&mut self, slots: impl Iterator<Item = usize>) -> Found<T> {
        let mut found = Found::Gone;
        for slot in slots {
            let Some(receiver) = &mut self.slots[slot] else { continue };
            match receiver.try_recv() {
                Ok(message) => {
                    self.next = if slot + 1 == self.slots.len() { 0 } else { slot + 1 };
                    return Found::Message(slot, message);
                }
                Err(TryRecvError::Empty) => found = Found::NotYet,
                Err(TryRecvError::Disconnected) => self.slots[slot] = None,
            }
        }
        found
    }

    /// Looks until something is found.
    fn wait(&mut self, look: impl Fn(&mut Self) -> Found<T>) -> Result<(usize, T), RecvError> {
        let mut looks = 0;
        let mut found = look(self);
        loop {
            match found {
                Found::Message(slot, message) => return Ok((slot, message)),
                Found::Gone => return Err(RecvError),
                Found::NotYet => {}
            }
            looks += 1;
            found = if Q::Wait::SLEEPS && looks >= Q::Memory::PATIENCE {
                self.sleep(&look)
            } else {
                // The pauses stay short: what is waited for is whoever comes first.
                Q::Wait::pause::<Q::Memory>(looks.min(Q::Memory::PATIENCE));
                look(self)
            };
        }
    }

    /// Sleeps until somebody sends, or goes, unless there is something already.
    #[cold]
    fn sleep(&mut self, look: impl Fn(&mut Self) -> Found<T>) -> Found<T> {
        let bell = self.bell.share();
        let mut found = Found::NotYet;
        bell.sleep(|| {
            for receiver in self.slots.iter().flatten() {
                mark::<Q::Memory>(receiver.watched());
            }
            found = look(self);
            !matches!(found, Found::NotYet)
        });
        found
    }
}

enum Found<T> {
    /// From this slot.
    Message(usize, T),
    NotYet,
    /// Nobody is left who could send.
    Gone,
}

impl<T: Send, Q: RawChannel<Item = T>> fmt::Debug for Inbox<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connected = self.slots.iter().flatten().count();
        let mut inbox = f.debug_struct("Inbox");
        inbox.field("slots", &self.slots.len()).field("connected", &connected);
        inbox.finish_non_exhaustive()
    }
}
