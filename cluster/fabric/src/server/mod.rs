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
//! whether it waits for a lock. Between a request and its answer lie two messages; the kernel wakes
//! the server's thread in between. That a process has ended its connections tell: the kernel closes
//! them.
//!
//! A server listens at all addresses of its machine. It lets nobody in who does not know the random
//! bytes of its [`Card`], which the processes of a job tell each other by what they talk over anyhow.
//! What is sent is neither encrypted nor signed, as with MPI itself.

mod card;
mod frames;
mod link;
mod serve;

pub use card::{CARD, Card};
pub use link::{Gone, Link};
pub use serve::{Answers, Peer, Service, serve};
