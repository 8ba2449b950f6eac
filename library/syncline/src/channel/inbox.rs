//! One receiver of many senders, each with a channel of its own.
//!
//! Senders don't disturb each other: they share only the inbox's bell, and they write to it only if
//! the receiver sleeps. The receiver checks its channels in turn, beginning after the one that was
//! served last, so that a busy sender does not hold up the others. (Only [`Inbox::recv_from`]
//! checks them in the order that it is given.) Checking a channel without news reads a line that is
//! in the receiver's own cache.
//!
//! Source: SSYNC (SOSP'13), section 4.1: receiving from any other thread, or from a subset.

use alloc::vec::Vec;
use core::fmt;
use core::task::{Poll, Waker};
use core::time::Duration;

use super::bell::Bell;
use super::counted::Counted;
use super::ends::with_bell;
use super::ends::{Receiver, Sender};
use super::errors::{NoSlot, RecvError, RecvTimeoutError, TryRecvError};
use super::news::{poll, sleep, withdraw};
use super::patience::Patience;
use super::raw::{Look, RawChannel, expect_room};
use super::ring::Ring;
use super::selectable::Selectable;
use crate::memory::Memory;
use crate::wait::Wait;

/// Receives from several senders. Dropping it disconnects all of them.
///
/// ```
/// use syncline::channel::Inbox;
///
/// let mut inbox = Inbox::new(2, 8);
/// let (slot, mut sender) = inbox.connect().unwrap();
/// let (_, mut other) = inbox.connect().unwrap();
/// sender.send("a job").unwrap();
/// assert_eq!(inbox.recv(), Ok((slot, "a job")));
/// other.send("another").unwrap();
/// assert_eq!(inbox.recv().unwrap().1, "another");
/// ```
pub struct Inbox<T: Send, Q: RawChannel<Item = T> = Ring<T>> {
    slots: Vec<Option<Receiver<T, Q>>>,
    capacity: usize,
    bell: Counted<Bell<Q::Memory>, Q::Memory>,
    /// The slot to look at first.
    next: usize,
    patience: Patience,
}

impl<T: Send> Inbox<T> {
    /// An inbox with `slots` slots for senders, each with room for `capacity` messages.
    ///
    /// # Panics
    ///
    /// If `slots` or `capacity` is 0, or if `capacity` is more than 2^28.
    pub fn new(slots: usize, capacity: usize) -> Self {
        Self::over(slots, capacity)
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Inbox<T, Q> {
    /// Like [`new`](Inbox::new), with channels of this kind.
    ///
    /// # Panics
    ///
    /// Same panics as [`new`](Inbox::new), except that the capacity of a
    /// [`Single`](super::Single) may be any number but 0.
    pub fn over(slots: usize, capacity: usize) -> Self {
        assert!(slots > 0, "an inbox needs a slot for a sender at least");
        expect_room::<Q>(capacity);
        let bell = Counted::new(Bell::default());
        let slots = (0..slots).map(|_| None).collect();
        Self { slots, capacity, bell, next: 0, patience: Patience::default() }
    }

    /// A new sender, and its slot. A slot is free again when its sender is gone and its messages
    /// were received.
    ///
    /// # Errors
    ///
    /// If all slots are taken.
    ///
    /// # Panics
    ///
    /// If the messages of one channel take more memory than can be addressed.
    pub fn connect(&mut self) -> Result<(usize, Sender<T, Q>), NoSlot> {
        let free = self.slots.iter().position(Option::is_none).or_else(|| {
            self.slots.iter_mut().position(|slot| {
                slot.as_mut().is_some_and(|receiver| receiver.look() == Look::Gone)
            })
        });
        let slot = free.ok_or(NoSlot(self.slots.len()))?;
        let (sender, receiver) = with_bell(self.capacity, self.bell.share());
        self.slots[slot] = Some(receiver);
        Ok((slot, sender))
    }

    /// Waits for a message from any sender, and returns it with the sender's slot.
    ///
    /// # Errors
    ///
    /// If all senders are gone and all their messages were received, or there never was a sender.
    pub fn recv(&mut self) -> Result<(usize, T), RecvError> {
        let slots = self.slots.len();
        self.wait(None, |inbox| inbox.look(inbox.next, slots)).message()
    }

    /// Waits for a message from any sender, at most for this time. Without a clock (without `std`
    /// on systems other than Linux) a timeout above zero never passes.
    ///
    /// # Errors
    ///
    /// If no message came in time. Same errors as [`recv`](Self::recv) otherwise.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<(usize, T), RecvTimeoutError> {
        self.recv_until(Q::Memory::now().saturating_add(timeout))
    }

    /// Waits for a message from any sender until a moment on the memory's clock.
    #[doc(hidden)]
    pub fn recv_until(&mut self, deadline: Duration) -> Result<(usize, T), RecvTimeoutError> {
        let slots = self.slots.len();
        match self.wait(Some(deadline), |inbox| inbox.look(inbox.next, slots)) {
            Found::Message(slot, message) => Ok((slot, message)),
            Found::NotYet => Err(RecvTimeoutError::Timeout),
            Found::Gone => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// Waits for a message from one of these slots, and checks them in the given order.
    ///
    /// # Errors
    ///
    /// If none of these slots has a sender, and all messages of their earlier senders were
    /// received.
    ///
    /// # Panics
    ///
    /// If a number in `slots` is not that of a slot, unless a slot earlier in the list has a
    /// message.
    pub fn recv_from(&mut self, slots: &[usize]) -> Result<(usize, T), RecvError> {
        self.wait(None, |inbox| inbox.look_at(slots.iter().copied())).message()
    }

    /// Takes a message if a sender has sent one.
    ///
    /// # Errors
    ///
    /// If there is no message. Same errors as [`recv`](Self::recv) otherwise.
    pub fn try_recv(&mut self) -> Result<(usize, T), TryRecvError> {
        match self.look(self.next, self.slots.len()) {
            Found::Message(slot, message) => Ok((slot, message)),
            Found::NotYet => Err(TryRecvError::Empty),
            Found::Gone => Err(TryRecvError::Disconnected),
        }
    }

    /// Looks for a message on behalf of a task, which is woken by this waker if there is none yet.
    pub(super) fn poll(&mut self, waker: &Waker) -> Poll<Result<(usize, T), RecvError>> {
        let slots = self.slots.len();
        let mut found = self.look(self.next, slots);
        if !matches!(found, Found::Message(..)) {
            let bell = self.bell.share();
            found = match poll(&*bell, waker, || Selectable::look(self)) {
                Look::NotYet => return Poll::Pending,
                Look::Ready | Look::Gone => self.look(self.next, slots),
            };
        }
        Poll::Ready(found.message())
    }

    /// Forgets the task that waits for a message.
    pub(super) fn withdraw(&mut self) {
        withdraw(&*self.bell);
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Looks at all slots once, beginning with `first`.
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

    /// Looks until something is found, or until the deadline if there is one.
    fn wait(
        &mut self,
        deadline: Option<Duration>,
        look: impl Fn(&mut Self) -> Found<T>,
    ) -> Found<T> {
        let mut patience = self.patience;
        let found = loop {
            let watched = patience.watch::<Q::Wait, Q::Memory, _>(deadline, || look(self).some());
            let found = match watched {
                None if Q::Wait::SLEEPS => self.sleep(deadline, &look),
                watched => watched,
            };
            match found {
                Some(found) => break found,
                None if deadline.is_some_and(|deadline| Q::Memory::now() >= deadline) => {
                    break Found::NotYet;
                }
                None => {}
            }
        };
        self.patience = patience;
        found
    }

    /// Sleeps until a message is sent, a sender is dropped, or the deadline passes, unless there is
    /// something already.
    #[cold]
    fn sleep(
        &mut self,
        deadline: Option<Duration>,
        look: impl Fn(&mut Self) -> Found<T>,
    ) -> Option<Found<T>> {
        let bell = self.bell.share();
        let mut found = None;
        sleep(&*bell, deadline, || {
            found = look(self).some();
            found.is_some()
        });
        found
    }
}

enum Found<T> {
    /// A message, and the slot of its sender.
    Message(usize, T),
    NotYet,
    /// No sender is left.
    Gone,
}

impl<T> Found<T> {
    /// `None` if nothing was found yet.
    fn some(self) -> Option<Self> {
        if matches!(self, Self::NotYet) { None } else { Some(self) }
    }

    /// The message of a wait without a deadline.
    fn message(self) -> Result<(usize, T), RecvError> {
        match self {
            Self::Message(slot, message) => Ok((slot, message)),
            Self::NotYet | Self::Gone => Err(RecvError),
        }
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Selectable<Q::Wait, Q::Memory> for Inbox<T, Q> {
    fn look(&mut self) -> Look {
        let looks = self.slots.iter_mut().flatten().map(Receiver::look);
        looks.fold(Look::Gone, |found, look| match (found, look) {
            (Look::Ready, _) | (_, Look::Ready) => Look::Ready,
            (Look::NotYet, _) | (_, Look::NotYet) => Look::NotYet,
            (Look::Gone, Look::Gone) => Look::Gone,
        })
    }

    fn bell(&self) -> &Bell<Q::Memory> {
        &self.bell
    }
}

impl<T: Send, Q: RawChannel<Item = T>> fmt::Debug for Inbox<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connected = self.slots.iter().flatten().count();
        let mut inbox = f.debug_struct("Inbox");
        inbox.field("slots", &self.slots.len()).field("connected", &connected);
        inbox.finish_non_exhaustive()
    }
}
