//! Messages between processes, over connections of their own.
//!
//! ```text
//!   card     how a process's server is reached
//!   serve    a thread that takes what others send, and answers
//!   link     the calling side
//!   frames   messages in a stream of bytes
//! ```
//!
//! A server does not depend on what its process does meanwhile: neither on its calls of MPI nor on
//! whether it waits for a lock. A request and its answer are two messages; the kernel wakes the
//! server's thread in between. When a process ends, the kernel closes its connections, so the other
//! end learns of it.
//!
//! A server listens at all addresses of its machine. It accepts only peers that know the random
//! bytes of its [`Card`], which the processes of a job exchange over a channel that they already
//! have. Messages are neither encrypted nor signed, as with MPI itself.

mod card;
mod frames;
mod link;
mod serve;

pub use card::{CARD, Card};
pub use link::{Gone, Link};
pub use serve::{Answers, Peer, Service, serve};
