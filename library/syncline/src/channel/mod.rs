//! Channels: messages between threads, in cache lines that one thread writes and another reads.
//!
//! A channel leads from one sender to one receiver. So each of the words that carry messages has
//! one writer, and a message costs no atomic read-modify-write unless the other end sleeps. An
//! [`Inbox`] receives from several senders, each with a channel of its own. A [`Duplex`] has a
//! channel each way, for requests and replies. [`Select`] waits until one of several receivers has
//! a message; the types of their messages may differ. Channels of many senders and many receivers
//! are in [`many`].
//!
//! ```
//! use syncline::channel;
//!
//! let (mut sender, mut receiver) = channel::bounded(64);
//! std::thread::scope(|scope| {
//!     scope.spawn(move || (0..1000_u64).try_for_each(|number| sender.send(number)));
//!     assert_eq!(receiver.iter().sum::<u64>(), 499_500);
//! });
//! ```
//!
//! Like a lock, a channel's algorithm is a type, with a waiting policy and a memory as parameters:
//!
//! | channel | room | use it for |
//! |---|---|---|
//! | [`Ring`], which [`bounded`] makes | as requested | streams: several small messages share a transfer |
//! | [`Single`] | one message | round trips: the sender waits until its previous message was taken |
//!
//! `channel::over::<Single<u64, Spin>>(1)` makes a channel of the second kind. Waiting policies are
//! those of [`wait`](crate::wait): [`Park`](crate::wait::Park), the default, sleeps after a while;
//! [`Spin`](crate::wait::Spin) and [`Yield`](crate::wait::Yield) never sleep. Sending is an
//! ordinary store under all of them. Under `Park` the sender also reads, from a line in its own
//! cache, whether the receiver sleeps.
//!
//! **Tasks** use the same ends as threads, without a runtime of this crate:
//! [`Receiver::recv_async`], [`Sender::send_async`] and [`Inbox::recv_async`] are futures;
//! [`Receiver::poll_recv`] and the other functions that poll are for streams and executors. One end
//! may be a task's and the other a thread's, and an end may change between the two from call to
//! call. A future that is dropped loses no message that was sent, and no wake-up. Tasks need a
//! policy that sleeps, such as `Park`.
//!
//! ```
//! use std::sync::Arc;
//! use std::task::{Context, Poll, Wake, Waker};
//! use std::thread::{self, Thread};
//! use syncline::channel;
//!
//! /// What every runtime has: here, the smallest possible.
//! struct Unpark(Thread);
//! impl Wake for Unpark {
//!     fn wake(self: Arc<Self>) {
//!         self.0.unpark();
//!     }
//! }
//! fn block_on<R>(task: impl Future<Output = R>) -> R {
//!     let waker = Waker::from(Arc::new(Unpark(thread::current())));
//!     let mut task = std::pin::pin!(task);
//!     loop {
//!         if let Poll::Ready(result) = task.as_mut().poll(&mut Context::from_waker(&waker)) {
//!             return result;
//!         }
//!         thread::park();
//!     }
//! }
//!
//! let (mut sender, mut receiver) = channel::bounded(2);
//! thread::scope(|scope| {
//!     scope.spawn(move || (0..100_u64).try_for_each(|number| sender.send(number)));
//!     let sum = block_on(async {
//!         let mut sum = 0;
//!         while let Ok(number) = receiver.recv_async().await {
//!             sum += number;
//!         }
//!         sum
//!     });
//!     assert_eq!(sum, 4950);
//! });
//! ```
//!
//! **Messages** of up to 56 bytes travel in one line, by value; in a [`Ring`], several share a line
//! if they fit. Larger messages take several lines, as do those with an alignment of 64 bytes or
//! more. (With an alignment of 16 bytes, 48 bytes fit; with one of 32 bytes, 32 bytes.)
//!
//! **Order and visibility:** messages arrive once and in order. The thread that receives a message
//! sees everything that happened before the message was sent.
//!
//! **Disconnecting** means dropping an end, even during a panic. A receiver gets all that was sent,
//! and then an error; a sender gets its message back. No end waits for an end that was dropped.

#[doc(hidden)]
pub mod awaited;
#[doc(hidden)]
pub mod bell;
#[doc(hidden)]
pub mod counted;
mod duplex;
#[doc(hidden)]
pub mod ends;
mod errors;
mod inbox;
#[doc(hidden)]
pub mod line;
#[cfg(target_has_atomic = "64")]
pub mod many;
#[doc(hidden)]
pub mod news;
#[doc(hidden)]
pub mod patience;
#[doc(hidden)]
pub mod raw;
mod ring;
#[doc(hidden)]
pub mod select;
#[doc(hidden)]
pub mod selectable;
#[doc(hidden)]
pub mod selector;
mod single;
#[doc(hidden)]
pub mod slot;
mod tasks;

pub use bell::Bell;
pub use duplex::{Disconnected, Duplex, duplex};
pub use ends::{Receiver, Sender, over};
pub use errors::{NoSlot, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
pub use inbox::Inbox;
pub use raw::{Look, RawChannel};
pub use ring::Ring;
pub use select::Select;
pub use selectable::Selectable;
pub use single::{Exclusive, Fetch, Shared, Single};

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
