//! Channels of many senders and many receivers: each message goes to one receiver, which may be any
//! of them.
//!
//! ```
//! use syncline::channel::many;
//!
//! let (sender, receiver) = many::bounded::<u64>(64);
//! let sum = std::thread::scope(|scope| {
//!     for first in 0..2 {
//!         let sender = sender.clone();
//!         scope.spawn(move || (first..1000).step_by(2).try_for_each(|number| sender.send(number)));
//!     }
//!     drop(sender);
//!     let other = receiver.clone();
//!     let other = scope.spawn(move || other.iter().sum::<u64>());
//!     receiver.iter().sum::<u64>() + other.join().unwrap()
//! });
//! assert_eq!(sum, 499_500);
//! ```
//!
//! Ends are cloned and shared. A message costs its sender an atomic read-modify-write of a line
//! that all senders write. It costs several if senders contend, and one more if it wakes a
//! receiver. For one sender and one receiver use [`bounded`](super::bounded); for several senders
//! and one receiver, an [`Inbox`](super::Inbox).
//!
//! **Tasks** use [`Receiver::recv_async`] and [`Sender::send_async`], under any runtime. Tasks and
//! threads may wait at the same ends. A future that is dropped loses no message that was sent: if
//! its task was woken for one, another task is woken instead. This makes a `Stream` of the crate
//! futures: `stream::unfold(receiver, |end| async move { Some((end.recv_async().await.ok()?, end)) })`.
//!
//! ```
//! use std::pin::pin;
//! use std::task::{Context, Poll, Waker};
//! use syncline::channel::many;
//!
//! let (sender, receiver) = many::bounded(8);
//! let mut message = pin!(receiver.recv_async());
//! let mut cx = Context::from_waker(Waker::noop());
//! assert_eq!(message.as_mut().poll(&mut cx), Poll::Pending);
//! sender.send(7).unwrap();
//! assert_eq!(message.poll(&mut cx), Poll::Ready(Ok(7)));
//! ```
//!
//! **Order:** messages are received in the order in which they were sent, as far as that is
//! defined: if the call that sends one message ends before the call that sends another begins, the
//! first message is taken first. The thread that receives a message sees everything that happened
//! before the message was sent.
//!
//! **Disconnecting** means dropping the last sender, or the last receiver. Receivers get all that
//! was sent, and then an error; a sender gets its message back. Messages that are not taken are
//! dropped with the last end.

mod ends;
#[doc(hidden)]
pub mod queue;
#[doc(hidden)]
pub mod waiters;
#[doc(hidden)]
pub mod wakers;

pub use ends::{Receiver, Sender};

use crate::memory::LongMemory;
use crate::wait::Wait;

/// A channel with room for at least `capacity` messages, whose ends spin and yield for a while, and
/// then sleep.
///
/// # Panics
///
/// If the capacity is 0 or more than 2^28, or if that many messages take more memory than can be
/// addressed.
pub fn bounded<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    over(capacity)
}

/// Like [`bounded`], with the waiting policy `W`, in the memory `M`.
///
/// # Panics
///
/// Same panics as [`bounded`].
pub fn over<T: Send, W: Wait, M: LongMemory>(
    capacity: usize,
) -> (Sender<T, W, M>, Receiver<T, W, M>) {
    Sender::pair(capacity)
}
