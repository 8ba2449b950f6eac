//! Why a message could not be sent or received.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

/// The receiver is gone (all receivers of a channel of `many`); the message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why a message was not sent at once. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room now.
    Full(T),
    /// The receiver is gone.
    Disconnected(T),
}

/// The sender is gone, and all its messages were taken. From an [`Inbox`](super::Inbox): no sender
/// that the call waited for is left. From a channel of `many`: all senders are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

/// Why there was no message to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// No message is there now.
    Empty,
    /// No message will come: the senders are gone, as in [`RecvError`].
    Disconnected,
}

/// Why no message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// No message came in time.
    Timeout,
    /// No message will come: the senders are gone, as in [`RecvError`].
    Disconnected,
}

/// All slots are taken; the value is the number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSlot(pub usize);

impl<T> TrySendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(message) | Self::Disconnected(message) => message,
        }
    }
}

const RECEIVER_GONE: &str = "no receiver is left";
const SENDER_GONE: &str = "no sender is left, and all messages were taken";

impl<T> Display for SendError<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(RECEIVER_GONE)
    }
}

impl<T> Display for TrySendError<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the channel is full",
            Self::Disconnected(_) => RECEIVER_GONE,
        })
    }
}

impl Display for RecvError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(SENDER_GONE)
    }
}

impl Display for TryRecvError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the channel is empty",
            Self::Disconnected => SENDER_GONE,
        })
    }
}

impl Display for RecvTimeoutError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no message came in time",
            Self::Disconnected => SENDER_GONE,
        })
    }
}

impl Display for NoSlot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "all {} slots are taken; make room for as many senders as will connect", self.0)
    }
}

impl<T> Debug for SendError<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> Debug for TrySendError<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Disconnected(_) => "Disconnected(..)",
        })
    }
}

impl<T> Error for SendError<T> {}
impl<T> Error for TrySendError<T> {}
impl Error for RecvError {}
impl Error for TryRecvError {}
impl Error for RecvTimeoutError {}
impl Error for NoSlot {}
