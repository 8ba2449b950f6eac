//! The interface of a channel's algorithm, which says how messages, and the news of them, get from
//! one end to the other. The ends, [`Sender`](super::Sender) and [`Receiver`](super::Receiver), are
//! built on it, and are the same for all algorithms.

use core::task::Waker;
use core::time::Duration;

use super::bell::Bell;
use super::patience::Patience;
use crate::memory::Memory;
use crate::wait::Wait;

/// The answer that an end gets when it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A message, or room for one.
    Ready,
    /// Nothing yet.
    NotYet,
    /// Nothing, and the other end is gone. A sender gets this even if there is room; a receiver
    /// gets it after it has taken all messages.
    Gone,
}

/// The algorithm of a channel from one sender to one receiver.
///
/// # Safety
///
/// Messages arrive once, in the order in which they were written. Everything that happened before a
/// message was written happens before the message is taken.
///
/// Every unsafe method requires that its first argument is the notes of this end, the same as in
/// all earlier calls. Several threads may call [`room`](Self::room) at the same time; other calls
/// of one end must not be concurrent. No method is called for an end that was closed, except that
/// messages may still be looked for and taken.
pub unsafe trait RawChannel: Send + Sync {
    /// The type of the messages.
    type Item: Send;
    /// The memory that the channel is in.
    type Memory: Memory;
    /// How its ends wait.
    type Wait: Wait;
    /// The notes of the sender: its own state.
    type Writer: Default + Send + Sync;
    /// The notes of the receiver: its own state.
    type Reader: Default + Send + Sync;

    /// The largest capacity that can be requested, unless memory is the limit.
    const MOST: usize = usize::MAX;

    /// An empty channel with room for at least `messages` messages, and for at least one. An
    /// algorithm with a fixed capacity ignores the number.
    ///
    /// # Panics
    ///
    /// If there are more messages than [`MOST`](Self::MOST), or than memory can address.
    fn with_capacity(messages: usize) -> Self;

    /// The number of messages for which an empty channel always has room.
    fn capacity(&self) -> usize;

    /// Whether there is room for a message.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold.
    unsafe fn room(&self, writer: &Self::Writer) -> Look;

    /// Waits until [`room`](Self::room) is not [`Look::NotYet`].
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold, and all that was written is published. The bell is the
    /// sender's.
    unsafe fn wait_for_room(
        &self,
        writer: &Self::Writer,
        patience: &mut Patience,
        bell: &Bell<Self::Memory>,
    ) -> Look;

    /// Like [`room`](Self::room). If that is [`Look::NotYet`], this waker is woken when there may be
    /// another answer.
    ///
    /// # Safety
    ///
    /// Same requirements as [`wait_for_room`](Self::wait_for_room). The waiting policy sleeps.
    unsafe fn poll_room(
        &self,
        writer: &Self::Writer,
        waker: &Waker,
        bell: &Bell<Self::Memory>,
    ) -> Look;

    /// A number of messages for which there is room, provided that there is room for one.
    fn together(&self, _: &Self::Writer) -> usize {
        1
    }

    /// Writes a message, which the receiver may or may not see before it is published.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold, and there is room. The bell is the receiver's.
    unsafe fn write(
        &self,
        writer: &mut Self::Writer,
        message: Self::Item,
        bell: &Bell<Self::Memory>,
    );

    /// Writes a message and publishes it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`write`](Self::write); all earlier messages are published.
    unsafe fn send(
        &self,
        writer: &mut Self::Writer,
        message: Self::Item,
        bell: &Bell<Self::Memory>,
    );

    /// Lets the receiver see all messages.
    ///
    /// # Safety
    ///
    /// Same requirements as [`write`](Self::write).
    unsafe fn publish(&self, writer: &mut Self::Writer, bell: &Bell<Self::Memory>);

    /// Closes the sender's end, which is being dropped. Publishes what it has written.
    ///
    /// # Safety
    ///
    /// Same requirements as [`write`](Self::write).
    unsafe fn close_writer(&self, writer: &mut Self::Writer, bell: &Bell<Self::Memory>);

    /// Whether there is a message.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold.
    unsafe fn look(&self, reader: &mut Self::Reader) -> Look;

    /// Waits until [`look`](Self::look) is not [`Look::NotYet`], or until the deadline on the
    /// memory's clock, if there is one.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold. The bell is the receiver's, and not an inbox's.
    unsafe fn wait(
        &self,
        reader: &mut Self::Reader,
        patience: &mut Patience,
        deadline: Option<Duration>,
        bell: &Bell<Self::Memory>,
    ) -> Look;

    /// Like [`look`](Self::look). If that is [`Look::NotYet`], this waker is woken when there may be
    /// another answer.
    ///
    /// # Safety
    ///
    /// Same requirements as [`wait`](Self::wait). The waiting policy sleeps.
    unsafe fn poll(
        &self,
        reader: &mut Self::Reader,
        waker: &Waker,
        bell: &Bell<Self::Memory>,
    ) -> Look;

    /// Takes a message.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold, and there is a message.
    unsafe fn take(&self, reader: &mut Self::Reader) -> Self::Item;

    /// Makes the room of the taken messages available to the sender, at once or after some more
    /// messages.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold. This is not called after `close_reader`. The bell is the
    /// sender's.
    unsafe fn release(&self, reader: &mut Self::Reader, bell: &Bell<Self::Memory>);

    /// Closes the receiver's end, which is being dropped.
    ///
    /// # Safety
    ///
    /// The requirements of the trait hold. The bell is the sender's.
    unsafe fn close_reader(&self, reader: &Self::Reader, bell: &Bell<Self::Memory>);
}

/// Panics if no channel of this kind has this capacity.
pub fn expect_room<Q: RawChannel>(capacity: usize) {
    assert!(capacity > 0, "a channel needs room for a message at least: its capacity is 0");
    let most = Q::MOST;
    assert!(capacity <= most, "a channel has room for at most {most} messages, not {capacity}");
}
