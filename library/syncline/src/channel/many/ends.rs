//! Senders and receivers, any number of each: what they do if the channel is empty or full, and
//! what happens when the last sender or the last receiver is dropped.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::task::{Context, Poll};
use core::time::Duration;

use super::queue::Queue;
use super::waiters::Waiters;
use crate::channel::awaited::{Awaited, Waiting, expect_sleepers};
use crate::channel::counted::Counted;
use crate::channel::patience::Patience;
use crate::channel::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use crate::memory::{LongMemory, Native, Padded, Word};
use crate::wait::{Park, Wait};

/// The largest capacity.
const MOST: usize = 1 << 28;

/// The part that all ends share.
struct Channel<T, M: LongMemory> {
    queue: Queue<T, M>,
    senders: Padded<Ends<M>>,
    receivers: Padded<Ends<M>>,
}

/// The ends of one kind: all senders, or all receivers.
#[derive(Default)]
struct Ends<M: LongMemory> {
    /// The number of ends of this kind, not counting the first.
    others: M::Word,
    /// Not 0 if no end of this kind is left.
    gone: M::Word,
    waiters: Waiters<M>,
}

impl<M: LongMemory> Ends<M> {
    fn one_more(&self) {
        // Relaxed: the end that is cloned exists, so no thread drops the last end of this kind
        // meanwhile. The count can't overflow: the channel's owners are counted as well, and a
        // clone that would make too many of them panics.
        self.others.fetch_add(1, Relaxed);
    }

    /// Counts an end that is dropped. If it was the last of its kind, the waiters of the other kind
    /// are woken.
    fn one_less(&self, others: &Self) {
        // AcqRel: what each end did happens before what the last one writes.
        if self.others.fetch_sub(1, AcqRel) == 0 {
            // Release: pairs with the Acquire in `are_gone`.
            self.gone.store(2, Release);
            others.waiters.wake(u32::MAX >> 1);
        }
    }

    fn are_gone(&self) -> bool {
        // Acquire: pairs with the Release in `one_less`: all that they sent is there.
        self.gone.load(Acquire) != 0
    }
}

impl<T: Send, M: LongMemory> Channel<T, M> {
    #[inline]
    fn try_send<W: Wait>(&self, message: T) -> Result<(), TrySendError<T>> {
        if self.receivers.are_gone() {
            return Err(TrySendError::Disconnected(message));
        }
        self.queue.push(message).map_err(TrySendError::Full)?;
        if W::SLEEPS {
            self.receivers.waiters.wake(1);
        }
        Ok(())
    }

    #[inline]
    fn try_recv<W: Wait>(&self) -> Result<T, TryRecvError> {
        let message = match self.queue.pop() {
            Some(message) => message,
            None if !self.senders.are_gone() => return Err(TryRecvError::Empty),
            // A message may have arrived before the senders were dropped.
            None => self.queue.pop().ok_or(TryRecvError::Disconnected)?,
        };
        if W::SLEEPS {
            self.senders.waiters.wake(1);
        }
        Ok(message)
    }
}

/// Looks until something is found, or the deadline has passed.
fn wait<W: Wait, M: LongMemory, R>(
    waiters: &Waiters<M>,
    deadline: Option<Duration>,
    mut look: impl FnMut() -> Option<R>,
) -> Option<R> {
    let mut patience = Patience::default();
    loop {
        let watched = patience.watch::<W, M, _>(deadline, &mut look);
        let found = match watched {
            None if W::SLEEPS => waiters.sleep(deadline, &mut look),
            watched => watched,
        };
        if found.is_some() || deadline.is_some_and(|deadline| M::now() >= deadline) {
            return found;
        }
    }
}

/// An end that sends. The channel is disconnected when all of them are dropped.
pub struct Sender<T: Send, W: Wait = Park, M: LongMemory = Native> {
    channel: Counted<Channel<T, M>, M>,
    policy: PhantomData<fn() -> W>,
}

/// An end that receives. The channel is disconnected when all of them are dropped.
pub struct Receiver<T: Send, W: Wait = Park, M: LongMemory = Native> {
    channel: Counted<Channel<T, M>, M>,
    policy: PhantomData<fn() -> W>,
}

impl<T: Send, W: Wait, M: LongMemory> Sender<T, W, M> {
    /// Both ends of a new channel; see [`over`](super::over).
    #[doc(hidden)]
    pub fn pair(capacity: usize) -> (Self, Receiver<T, W, M>) {
        assert!(capacity > 0, "a channel needs room for a message at least: its capacity is 0");
        assert!(capacity <= MOST, "a channel has room for at most {MOST} messages, not {capacity}");
        let (senders, receivers) = Default::default();
        let queue = Queue::with_capacity(capacity);
        let channel = Counted::new(Channel { queue, senders, receivers });
        let receiver = Receiver { channel: channel.share(), policy: PhantomData };
        (Self { channel, policy: PhantomData }, receiver)
    }

    /// Waits for room, and sends a message. The thread that receives the message sees everything
    /// that happened before the call.
    ///
    /// # Errors
    ///
    /// If all receivers are gone. If the last receiver is dropped at the same time, the message may
    /// be accepted; it is then dropped with the last end.
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => self.send_later(message),
        }
    }

    /// The slow path of [`send`](Self::send), so that the code for sending when there is room stays
    /// small.
    #[cold]
    fn send_later(&self, message: T) -> Result<(), SendError<T>> {
        let mut message = Some(message);
        loop {
            let sent = wait::<W, M, _>(&self.channel.senders.waiters, None, || {
                match self.try_send(message.take()?) {
                    Ok(()) => Some(Ok(())),
                    Err(TrySendError::Disconnected(message)) => Some(Err(SendError(message))),
                    Err(TrySendError::Full(back)) => {
                        message = Some(back);
                        None
                    }
                }
            });
            if let Some(sent) = sent {
                return sent;
            }
        }
    }

    /// Waits for room and sends a message, as a task. Receivers may be tasks or threads.
    ///
    /// If the future is dropped before it is ready, the message is dropped with it, and was not sent.
    /// Does not compile for a policy that does not sleep, such as [`Spin`](crate::wait::Spin).
    ///
    /// # Errors
    ///
    /// Same errors as [`send`](Self::send).
    ///
    /// # Panics
    ///
    /// If the future is polled after it was ready.
    pub fn send_async(&self, message: T) -> impl Future<Output = Result<(), SendError<T>>> {
        const { expect_sleepers::<W>() };
        Waiting::new(Sending { sender: self, message: Some(message), ticket: None })
    }

    /// Sends a message if there is room.
    ///
    /// # Errors
    ///
    /// If there is no room, or all receivers are gone.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send::<W>(message)
    }

    /// The capacity in messages: at least as many as were requested.
    pub fn capacity(&self) -> usize {
        self.channel.queue.capacity()
    }
}

impl<T: Send, W: Wait, M: LongMemory> Receiver<T, W, M> {
    /// Waits for a message.
    ///
    /// # Errors
    ///
    /// If all senders are gone and all their messages were taken.
    #[inline]
    pub fn recv(&self) -> Result<T, RecvError> {
        match self.try_recv() {
            Ok(message) => Ok(message),
            Err(TryRecvError::Disconnected) => Err(RecvError),
            Err(TryRecvError::Empty) => loop {
                match self.recv_later(None) {
                    Ok(message) => return Ok(message),
                    Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            },
        }
    }

    /// Waits for a message, at most for this time. Without a clock (without `std` on systems other
    /// than Linux) a timeout above zero never passes.
    ///
    /// # Errors
    ///
    /// If no message came in time. Same errors as [`recv`](Self::recv) otherwise.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_until(M::now().saturating_add(timeout))
    }

    /// Waits for a message until a moment on the memory's clock.
    #[doc(hidden)]
    pub fn recv_until(&self, deadline: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_later(Some(deadline))
    }

    #[cold]
    fn recv_later(&self, deadline: Option<Duration>) -> Result<T, RecvTimeoutError> {
        let waiters = &self.channel.receivers.waiters;
        let found = wait::<W, M, _>(waiters, deadline, || match self.try_recv() {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
            Err(TryRecvError::Empty) => None,
        });
        found.unwrap_or(Err(RecvTimeoutError::Timeout))
    }

    /// Waits for a message, as a task. Senders may be tasks or threads.
    ///
    /// The future takes a message only in the `poll` that returns it, so no message is lost if the
    /// future is dropped. Does not compile for a policy that does not sleep, such as
    /// [`Spin`](crate::wait::Spin).
    ///
    /// # Errors
    ///
    /// If all senders are gone and all their messages were taken.
    pub fn recv_async(&self) -> impl Future<Output = Result<T, RecvError>> {
        const { expect_sleepers::<W>() };
        Waiting::new(Receiving { receiver: self, ticket: None })
    }

    /// Takes a message if there is one.
    ///
    /// # Errors
    ///
    /// If there is no message. Same errors as [`recv`](Self::recv) otherwise.
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel.try_recv::<W>()
    }

    /// Messages, until all senders are gone.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.recv().ok())
    }
}

/// The message of a task that sends, and the task's ticket while the task waits for room.
struct Sending<'a, T: Send, W: Wait, M: LongMemory> {
    sender: &'a Sender<T, W, M>,
    message: Option<T>,
    ticket: Option<u64>,
}

impl<T: Send, W: Wait, M: LongMemory> Awaited for Sending<'_, T, W, M> {
    type Output = Result<(), SendError<T>>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { sender, message, ticket } = self;
        let waiters = &sender.channel.senders.waiters;
        let sent = waiters.poll(ticket, cx.waker(), || {
            match sender.try_send(message.take().expect("it was not sent yet")) {
                Ok(()) => Some(Ok(())),
                Err(TrySendError::Disconnected(message)) => Some(Err(SendError(message))),
                Err(TrySendError::Full(back)) => {
                    *message = Some(back);
                    None
                }
            }
        });
        sent.map_or(Poll::Pending, Poll::Ready)
    }

    fn withdraw(&mut self) {
        self.sender.channel.senders.waiters.leave(&mut self.ticket);
    }
}

/// A receiver, and its task's ticket while the task waits for a message.
struct Receiving<'a, T: Send, W: Wait, M: LongMemory> {
    receiver: &'a Receiver<T, W, M>,
    ticket: Option<u64>,
}

impl<T: Send, W: Wait, M: LongMemory> Awaited for Receiving<'_, T, W, M> {
    type Output = Result<T, RecvError>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { receiver, ticket } = self;
        let waiters = &receiver.channel.receivers.waiters;
        let received = waiters.poll(ticket, cx.waker(), || match receiver.try_recv() {
            Ok(message) => Some(Ok(message)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvError)),
            Err(TryRecvError::Empty) => None,
        });
        received.map_or(Poll::Pending, Poll::Ready)
    }

    fn withdraw(&mut self) {
        self.receiver.channel.receivers.waiters.leave(&mut self.ticket);
    }
}

impl<T: Send, W: Wait, M: LongMemory> Clone for Sender<T, W, M> {
    fn clone(&self) -> Self {
        // `share` comes first, since it panics if there are too many ends: if this end were counted
        // by then, the channel would never be disconnected.
        let channel = self.channel.share();
        channel.senders.one_more();
        Self { channel, policy: PhantomData }
    }
}

impl<T: Send, W: Wait, M: LongMemory> Clone for Receiver<T, W, M> {
    fn clone(&self) -> Self {
        // First, as above.
        let channel = self.channel.share();
        channel.receivers.one_more();
        Self { channel, policy: PhantomData }
    }
}

impl<T: Send, W: Wait, M: LongMemory> Drop for Sender<T, W, M> {
    fn drop(&mut self) {
        self.channel.senders.one_less(&self.channel.receivers);
    }
}

impl<T: Send, W: Wait, M: LongMemory> Drop for Receiver<T, W, M> {
    fn drop(&mut self) {
        self.channel.receivers.one_less(&self.channel.senders);
    }
}

impl<T: Send, W: Wait, M: LongMemory> fmt::Debug for Sender<T, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

impl<T: Send, W: Wait, M: LongMemory> fmt::Debug for Receiver<T, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
