//! Two channels, one in each direction, for requests and replies.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

use super::ends::{Receiver, Sender, over};
use super::errors::{RecvError, SendError};
use super::raw::RawChannel;
use super::single::Single;

/// An end that sends messages of one kind, and receives those of another.
///
/// With two [`Single`]s, as made by [`duplex`], a round trip is four transfers of a line (SSYNC,
/// section 6.2).
#[derive(Debug)]
pub struct Duplex<
    Out: Send,
    In: Send,
    S: RawChannel<Item = Out> = Single<Out>,
    R: RawChannel<Item = In> = Single<In>,
> {
    /// The channel to the other end.
    pub sender: Sender<Out, S>,
    /// The channel from the other end.
    pub receiver: Receiver<In, R>,
}

/// The other end was dropped, before or during the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnected;

impl Display for Disconnected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the other end is gone, and will not answer")
    }
}

impl Error for Disconnected {}

impl<T> From<SendError<T>> for Disconnected {
    fn from(_: SendError<T>) -> Self {
        Self
    }
}

impl From<RecvError> for Disconnected {
    fn from(_: RecvError) -> Self {
        Self
    }
}

/// Two connected ends: each receives what the other sends. There is room for one message each way.
pub fn duplex<A: Send, B: Send>() -> (Duplex<A, B>, Duplex<B, A>) {
    Duplex::over(1)
}

impl<Out: Send, In: Send, S: RawChannel<Item = Out>, R: RawChannel<Item = In>>
    Duplex<Out, In, S, R>
{
    /// Like [`duplex`], over channels of these kinds and capacity.
    ///
    /// # Panics
    ///
    /// Same panics as [`over`].
    pub fn over(capacity: usize) -> (Self, Duplex<In, Out, R, S>) {
        let (sender, outlet) = over::<S>(capacity);
        let (inlet, receiver) = over::<R>(capacity);
        (Self { sender, receiver }, Duplex { sender: inlet, receiver: outlet })
    }

    /// Sends a message, and waits for the next message from the other end.
    ///
    /// # Errors
    ///
    /// If the other end is gone.
    #[inline]
    pub fn round_trip(&mut self, message: Out) -> Result<In, Disconnected> {
        self.sender.send(message)?;
        Ok(self.receiver.recv()?)
    }
}
