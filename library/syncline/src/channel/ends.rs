//! The two ends of a channel.
//!
//! Each end keeps its own position; the end that is dropped last frees what both share. A receiver
//! that is dropped drops the messages that were not taken; messages that arrive at that moment may
//! stay until the last end is dropped.

use core::fmt;
use core::mem;
use core::task::Waker;
use core::time::Duration;

use super::bell::Bell;
use super::counted::Counted;
use super::errors::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use super::news::withdraw;
use super::patience::Patience;
use super::raw::{Look, RawChannel, expect_room};
use super::ring::Ring;
use super::selectable::Selectable;
use crate::memory::{Data, Memory as _};

type Memory<Q> = <Q as RawChannel>::Memory;

/// The part that both ends share.
pub struct Channel<Q: RawChannel> {
    queue: Q,
    /// The receiver's bell, or that of its inbox.
    receivers: Counted<Bell<Memory<Q>>, Memory<Q>>,
    /// The sender's bell.
    senders: Bell<Memory<Q>>,
    /// The notes of a receiver that was dropped.
    left: <Memory<Q> as crate::memory::Memory>::Data<Q::Reader>,
}

// SAFETY: the notes move from the receiver to the thread that drops the last end, and are `Send`.
unsafe impl<Q: RawChannel> Sync for Channel<Q> {}
// SAFETY: as above.
unsafe impl<Q: RawChannel> Send for Channel<Q> {}

impl<Q: RawChannel> Drop for Channel<Q> {
    fn drop(&mut self) {
        // SAFETY: both ends are gone.
        let mut reader = unsafe { self.left.with(|left| mem::take(&mut *left)) };
        // SAFETY: these are the notes of the receiver.
        unsafe { drain(&self.queue, &mut reader) };
    }
}

/// Drops all messages.
///
/// # Safety
///
/// The caller is the receiver, or has its notes.
unsafe fn drain<Q: RawChannel>(queue: &Q, reader: &mut Q::Reader) {
    // SAFETY: our caller's promise; there is a message to take.
    unsafe {
        while queue.look(reader) == Look::Ready {
            drop(queue.take(reader));
        }
    }
}

/// The sending end of a channel. Dropping it disconnects; what was sent still arrives.
///
/// ```
/// use syncline::channel;
///
/// let (mut sender, mut receiver) = channel::bounded(8);
/// sender.send(1).unwrap();
/// drop(sender);
/// assert_eq!(receiver.recv(), Ok(1));
/// assert!(receiver.recv().is_err());
/// ```
pub struct Sender<T: Send, Q: RawChannel<Item = T> = Ring<T>> {
    channel: Counted<Channel<Q>, Q::Memory>,
    writer: Q::Writer,
    patience: Patience,
}

/// The receiving end of a channel. Dropping it disconnects, and drops what was not received.
///
/// ```
/// use syncline::channel;
///
/// let (mut sender, receiver) = channel::bounded(8);
/// drop(receiver);
/// assert!(sender.send("no receiver takes this").is_err());
/// ```
pub struct Receiver<T: Send, Q: RawChannel<Item = T> = Ring<T>> {
    channel: Counted<Channel<Q>, Q::Memory>,
    reader: Q::Reader,
    patience: Patience,
}

/// A channel of this kind, with room for at least `capacity` messages. A
/// [`Single`](crate::channel::Single) has room for one, whatever the capacity.
///
/// # Panics
///
/// If the capacity is 0. A [`Ring`] also panics if the capacity is more than 2^28, or if that many
/// messages take more memory than can be addressed.
pub fn over<Q: RawChannel>(capacity: usize) -> (Sender<Q::Item, Q>, Receiver<Q::Item, Q>) {
    with_bell(capacity, Counted::new(Bell::default()))
}

/// A channel whose receiver has this bell.
///
/// # Panics
///
/// If the capacity is 0, or too large.
pub fn with_bell<T: Send, Q: RawChannel<Item = T>>(
    capacity: usize,
    receivers: Counted<Bell<Q::Memory>, Q::Memory>,
) -> (Sender<T, Q>, Receiver<T, Q>) {
    expect_room::<Q>(capacity);
    let queue = Q::with_capacity(capacity);
    let left = Data::new(Q::Reader::default());
    let channel = Counted::new(Channel { queue, receivers, senders: Bell::default(), left });
    let patience = Patience::default();
    let receiver = Receiver { channel: channel.share(), reader: Q::Reader::default(), patience };
    (Sender { channel, writer: Q::Writer::default(), patience }, receiver)
}

// SAFETY, of the calls of a queue below: each end has its own notes. One thread at a time changes
// an end, since the call borrows the end exclusively. An end is open until it is dropped.

impl<T: Send, Q: RawChannel<Item = T>> Sender<T, Q> {
    /// Waits for room, and sends a message. The thread that receives the message sees everything
    /// that happened before the call.
    ///
    /// # Errors
    ///
    /// If the receiver is gone. If the receiver is dropped at the same time, the message may still
    /// be accepted; it is then dropped with the receiver or with the last end.
    #[inline]
    pub fn send(&mut self, message: T) -> Result<(), SendError<T>> {
        match self.wait() {
            Look::Gone => Err(SendError(message)),
            _ => {
                self.put(message);
                Ok(())
            }
        }
    }

    /// Sends a message if there is room.
    ///
    /// # Errors
    ///
    /// If there is no room, or the receiver is gone.
    #[inline]
    pub fn try_send(&mut self, message: T) -> Result<(), TrySendError<T>> {
        // SAFETY: see above.
        match unsafe { self.channel.queue.room(&self.writer) } {
            Look::Ready => {
                self.put(message);
                Ok(())
            }
            Look::NotYet => Err(TrySendError::Full(message)),
            Look::Gone => Err(TrySendError::Disconnected(message)),
        }
    }

    /// Sends all messages, and waits for room as needed. In a [`Ring`] the receiver is notified
    /// after every few full lines, before each wait for room, and at the end. That is quicker than
    /// to notify it of each message.
    ///
    /// # Errors
    ///
    /// If the receiver is gone. The error has the message that could not be sent. The messages
    /// after it stay in the iterator, if the iterator was borrowed.
    pub fn send_all(&mut self, messages: impl IntoIterator<Item = T>) -> Result<(), SendError<T>> {
        let mut messages = messages.into_iter();
        // Publishes what was written, even if the iterator panics.
        let sender = Publish(self);
        while let Some(first) = messages.next() {
            if sender.0.wait() == Look::Gone {
                return Err(SendError(first));
            }
            let Sender { channel, writer, .. } = &mut *sender.0;
            let Channel { queue, receivers, .. } = &**channel;
            let mut room = queue.together(writer);
            let mut next = Some(first);
            while let Some(message) = next {
                // SAFETY: see above; there is room.
                unsafe { queue.write(writer, message, receivers) };
                room -= 1;
                next = if room > 0 { messages.next() } else { None };
            }
        }
        Ok(())
    }

    /// Whether the receiver is gone, so that nothing more can be sent.
    pub fn is_disconnected(&self) -> bool {
        // SAFETY: see above; other threads that share this end can only call functions that change
        // nothing.
        unsafe { self.channel.queue.room(&self.writer) == Look::Gone }
    }

    /// The number of messages for which an empty channel always has room: at least as many as were
    /// requested, but 1 for a [`Single`](crate::channel::Single).
    pub fn capacity(&self) -> usize {
        self.channel.queue.capacity()
    }

    /// Waits for room.
    #[inline]
    fn wait(&mut self) -> Look {
        let Channel { queue, receivers, senders, .. } = &*self.channel;
        // SAFETY: see above; what was written is published before the wait.
        unsafe {
            match queue.room(&self.writer) {
                Look::NotYet => {
                    queue.publish(&mut self.writer, receivers);
                    queue.wait_for_room(&self.writer, &mut self.patience, senders)
                }
                look => look,
            }
        }
    }

    /// Looks for room on behalf of a task, which is woken by this waker if there is none yet.
    pub(super) fn poll_room(&mut self, waker: &Waker) -> Look {
        let Channel { queue, receivers, senders, .. } = &*self.channel;
        // SAFETY: see above; what was written is published before the wait.
        unsafe {
            match queue.room(&self.writer) {
                Look::Ready => Look::Ready,
                _ => {
                    queue.publish(&mut self.writer, receivers);
                    queue.poll_room(&self.writer, waker, senders)
                }
            }
        }
    }

    /// Forgets the task that waits for room.
    pub(super) fn withdraw(&mut self) {
        withdraw(&self.channel.senders);
    }

    /// Sends a message for which there is room.
    #[inline]
    pub(super) fn put(&mut self, message: T) {
        let Channel { queue, receivers, .. } = &*self.channel;
        // SAFETY: see above; there is room. `send_all` has published what it wrote.
        unsafe { queue.send(&mut self.writer, message, receivers) };
    }
}

/// When dropped, publishes what was written.
struct Publish<'a, T: Send, Q: RawChannel<Item = T>>(&'a mut Sender<T, Q>);

impl<T: Send, Q: RawChannel<Item = T>> Drop for Publish<'_, T, Q> {
    fn drop(&mut self) {
        let Sender { channel, writer, .. } = &mut *self.0;
        // SAFETY: see above.
        unsafe { channel.queue.publish(writer, &channel.receivers) };
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Drop for Sender<T, Q> {
    fn drop(&mut self) {
        let Channel { queue, receivers, .. } = &*self.channel;
        // SAFETY: see above.
        unsafe { queue.close_writer(&mut self.writer, receivers) };
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Receiver<T, Q> {
    /// Waits for a message.
    ///
    /// # Errors
    ///
    /// If the sender is gone and all its messages were taken.
    #[inline]
    pub fn recv(&mut self) -> Result<T, RecvError> {
        if self.look() == Look::Ready { Ok(self.take()) } else { self.recv_later() }
    }

    /// The slow path of [`recv`](Self::recv), so that the code for taking a message that has
    /// arrived stays small.
    #[cold]
    fn recv_later(&mut self) -> Result<T, RecvError> {
        if self.wait(None) == Look::Gone { Err(RecvError) } else { Ok(self.take()) }
    }

    /// Waits for a message, at most for this time. Without a clock (without `std` on systems other
    /// than Linux) a timeout above zero never passes.
    ///
    /// # Errors
    ///
    /// If no message came in time. Same errors as [`recv`](Self::recv) otherwise.
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match self.look() {
            Look::Ready => Ok(self.take()),
            _ => self.recv_until(Q::Memory::now().saturating_add(timeout)),
        }
    }

    /// Waits for a message until a moment on the memory's clock.
    #[doc(hidden)]
    pub fn recv_until(&mut self, deadline: Duration) -> Result<T, RecvTimeoutError> {
        match self.wait(Some(deadline)) {
            Look::Ready => Ok(self.take()),
            Look::NotYet => Err(RecvTimeoutError::Timeout),
            Look::Gone => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// Waits until there is a message, the sender is gone, or the deadline has passed.
    fn wait(&mut self, deadline: Option<Duration>) -> Look {
        let Channel { queue, receivers, .. } = &*self.channel;
        // SAFETY: see above. The receivers of an inbox don't wait here.
        unsafe { queue.wait(&mut self.reader, &mut self.patience, deadline, receivers) }
    }

    /// Takes a message if there is one.
    ///
    /// # Errors
    ///
    /// If there is no message. Same errors as [`recv`](Self::recv) otherwise.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.look() {
            Look::Ready => Ok(self.take()),
            Look::NotYet => Err(TryRecvError::Empty),
            Look::Gone => Err(TryRecvError::Disconnected),
        }
    }

    /// The messages, until the sender is gone.
    pub fn iter(&mut self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.recv().ok())
    }

    /// Whether there is a message to take.
    #[doc(hidden)]
    #[inline]
    pub fn look(&mut self) -> Look {
        // SAFETY: see above.
        unsafe { self.channel.queue.look(&mut self.reader) }
    }

    /// Looks for a message on behalf of a task, which is woken by this waker if there is none yet.
    pub(super) fn poll_look(&mut self, waker: &Waker) -> Look {
        match self.look() {
            Look::Ready => Look::Ready,
            _ => {
                let Channel { queue, receivers, .. } = &*self.channel;
                // SAFETY: see above. The receivers of an inbox are not polled here.
                unsafe { queue.poll(&mut self.reader, waker, receivers) }
            }
        }
    }

    /// Forgets the task that waits for a message.
    pub(super) fn withdraw(&mut self) {
        withdraw(&self.channel.receivers);
    }

    /// Takes a message that is there.
    #[inline]
    pub(super) fn take(&mut self) -> T {
        let Channel { queue, senders, .. } = &*self.channel;
        // SAFETY: see above; there is a message.
        unsafe {
            let message = queue.take(&mut self.reader);
            queue.release(&mut self.reader, senders);
            message
        }
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Selectable<Q::Wait, Q::Memory> for Receiver<T, Q> {
    fn look(&mut self) -> Look {
        Self::look(self)
    }

    fn bell(&self) -> &Bell<Q::Memory> {
        &self.channel.receivers
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Drop for Receiver<T, Q> {
    fn drop(&mut self) {
        /// Leaves the notes to the thread that drops the last end, even if dropping a message
        /// panics.
        struct Leave<'a, T: Send, Q: RawChannel<Item = T>>(&'a mut Receiver<T, Q>);
        impl<T: Send, Q: RawChannel<Item = T>> Drop for Leave<'_, T, Q> {
            fn drop(&mut self) {
                let reader = mem::take(&mut self.0.reader);
                // SAFETY: no other thread uses `left` before both ends are gone.
                unsafe { self.0.channel.left.with(|left| *left = reader) };
            }
        }
        let receiver = Leave(self);
        let Receiver { channel, reader, .. } = &mut *receiver.0;
        // Closing comes first, so that a fast sender can't keep this thread draining. SAFETY: see
        // above.
        unsafe {
            channel.queue.close_reader(reader, &channel.senders);
            drain(&channel.queue, reader);
        }
    }
}

impl<T: Send, Q: RawChannel<Item = T>> fmt::Debug for Sender<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

impl<T: Send, Q: RawChannel<Item = T>> fmt::Debug for Receiver<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
