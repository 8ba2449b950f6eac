//! The ends as tasks use them: functions that are polled, and futures.
//!
//! A future borrows its end, so an end has one task at a time. A message or room that has come
//! stays until this task, or a later user of the end, takes it. A future that is dropped takes only
//! its waker with it, and the message that it has not sent.

use core::task::{Context, Poll};

use super::awaited::{Awaited, Waiting, expect_sleepers};
use super::ends::{Receiver, Sender};
use super::errors::{RecvError, SendError};
use super::inbox::Inbox;
use super::raw::{Look, RawChannel};

impl<T: Send, Q: RawChannel<Item = T>> Receiver<T, Q> {
    /// Takes a message, or arranges for the task to be woken when there is one. After a message,
    /// call this again for the next one. After the error, each further call returns the error.
    ///
    /// The waker of the last call wakes its task, perhaps although there is no message. The channel
    /// keeps the waker at most until another one replaces it, until this function returns the
    /// error, or until both ends are dropped.
    ///
    /// Order and visibility are those of [`recv`](Self::recv). A channel whose policy does not
    /// sleep, such as [`Spin`](crate::wait::Spin), can't be polled: that does not compile.
    ///
    /// This makes a `Stream` of the crate futures:
    /// `stream::poll_fn(move |cx| receiver.poll_recv(cx).map(Result::ok))`. The closure has the
    /// form of `Stream::poll_next`:
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    /// use syncline::channel;
    ///
    /// let (mut sender, mut receiver) = channel::bounded(8);
    /// let mut poll_next = move |cx: &mut Context<'_>| receiver.poll_recv(cx).map(Result::ok);
    ///
    /// let mut cx = Context::from_waker(Waker::noop());
    /// assert_eq!(poll_next(&mut cx), Poll::Pending);
    /// sender.send(1).unwrap();
    /// assert_eq!(poll_next(&mut cx), Poll::Ready(Some(1)));
    /// drop(sender);
    /// assert_eq!(poll_next(&mut cx), Poll::Ready(None));
    /// ```
    ///
    /// ```compile_fail
    /// use std::task::{Context, Waker};
    /// use syncline::channel::{self, Ring};
    /// use syncline::wait::Spin;
    ///
    /// let (_sender, mut receiver) = channel::over::<Ring<u32, Spin>>(8);
    /// let _ = receiver.poll_recv(&mut Context::from_waker(Waker::noop()));
    /// ```
    ///
    /// # Errors
    ///
    /// If the sender is gone and all its messages were taken.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        const { expect_sleepers::<Q::Wait>() };
        match self.poll_look(cx.waker()) {
            Look::Ready => Poll::Ready(Ok(self.take())),
            Look::NotYet => Poll::Pending,
            Look::Gone => Poll::Ready(Err(RecvError)),
        }
    }

    /// Waits for a message, as a task. The sender may be a task or a thread.
    ///
    /// The future takes a message only in the `poll` that returns it. So no message is lost if the
    /// future is dropped: the next call on this receiver gets the message.
    ///
    /// # Errors
    ///
    /// If the sender is gone and all its messages were taken.
    pub fn recv_async(&mut self) -> impl Future<Output = Result<T, RecvError>> {
        Waiting::new(self)
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Inbox<T, Q> {
    /// Like [`poll_recv`](Receiver::poll_recv) of a receiver, but takes a message from any sender,
    /// and returns it with the sender's slot.
    ///
    /// # Errors
    ///
    /// Same errors as [`recv`](Self::recv).
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<(usize, T), RecvError>> {
        const { expect_sleepers::<Q::Wait>() };
        self.poll(cx.waker())
    }

    /// Like [`recv_async`](Receiver::recv_async) of a receiver, but takes a message from any
    /// sender, and returns it with the sender's slot.
    ///
    /// # Errors
    ///
    /// Same errors as [`recv`](Self::recv).
    pub fn recv_async(&mut self) -> impl Future<Output = Result<(usize, T), RecvError>> {
        Waiting::new(self)
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Sender<T, Q> {
    /// Takes the message out of the option and sends it, or arranges for the task to be woken when
    /// there is room. The waker is treated as by [`poll_recv`](Receiver::poll_recv).
    ///
    /// ```
    /// use std::task::{Context, Poll, Waker};
    /// use syncline::channel::{self, Single};
    ///
    /// let (mut sender, mut receiver) = channel::over::<Single<u32>>(1);
    /// sender.send(1).unwrap();
    /// let mut cx = Context::from_waker(Waker::noop());
    /// let mut message = Some(2);
    /// assert_eq!(sender.poll_send(&mut cx, &mut message), Poll::Pending);
    /// assert_eq!(receiver.recv(), Ok(1));
    /// assert_eq!(sender.poll_send(&mut cx, &mut message), Poll::Ready(Ok(())));
    /// assert_eq!(message, None);
    /// ```
    ///
    /// # Errors
    ///
    /// If the receiver is gone; the error has the message. If the receiver is dropped at the same
    /// time, the message may still be accepted, as by [`send`](Self::send).
    ///
    /// # Panics
    ///
    /// If there is room, or the receiver is gone, but there is no message in the option.
    pub fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        message: &mut Option<T>,
    ) -> Poll<Result<(), SendError<T>>> {
        const { expect_sleepers::<Q::Wait>() };
        let look = self.poll_room(cx.waker());
        if look == Look::NotYet {
            return Poll::Pending;
        }
        let message = message.take().expect("there is a message to send");
        Poll::Ready(if look == Look::Gone {
            Err(SendError(message))
        } else {
            self.put(message);
            Ok(())
        })
    }

    /// Waits for room and sends a message, as a task. The receiver may be a task or a thread.
    ///
    /// If the future is dropped before it is ready, the message is dropped with it, and was not sent.
    /// To keep the message, use [`poll_send`](Self::poll_send), which leaves it in its option.
    ///
    /// # Errors
    ///
    /// Same errors as [`send`](Self::send).
    ///
    /// # Panics
    ///
    /// If the future is polled after it was ready.
    pub fn send_async(&mut self, message: T) -> impl Future<Output = Result<(), SendError<T>>> {
        Waiting::new((self, Some(message)))
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Awaited for &mut Receiver<T, Q> {
    type Output = Result<T, RecvError>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_recv(cx)
    }

    fn withdraw(&mut self) {
        Receiver::withdraw(self);
    }
}

impl<T: Send, Q: RawChannel<Item = T>> Awaited for &mut Inbox<T, Q> {
    type Output = Result<(usize, T), RecvError>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_recv(cx)
    }

    fn withdraw(&mut self) {
        Inbox::withdraw(self);
    }
}

/// A sender and what it sends.
impl<T: Send, Q: RawChannel<Item = T>> Awaited for (&mut Sender<T, Q>, Option<T>) {
    type Output = Result<(), SendError<T>>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_send(cx, &mut self.1)
    }

    fn withdraw(&mut self) {
        self.0.withdraw();
    }
}
