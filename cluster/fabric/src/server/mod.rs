//! Messages between processes, over their own connections.
//!
//! ```text
//!   card     how to reach a process's server
//!   serve    the server: a thread that receives messages and answers them
//!   link     the calling side
//!   frames   messages in a stream of bytes
//! ```
//!
//! A server works no matter what its process does meanwhile, for example while the process is in a
//! call of MPI or waits for a lock. A request and its answer are two messages, and in between the
//! kernel has to wake the server's thread. When a process ends, the kernel closes its connections,
//! so the other ends notice it.
//!
//! A server listens at all addresses of its machine. A server accepts only callers that know the
//! random bytes in its [`Card`]. The processes of a job exchange their cards over a channel that
//! exists already. Messages are neither encrypted nor signed, as is usual with MPI.

mod card;
mod frames;
mod link;
mod serve;

pub use card::{CARD, Card};
pub(crate) use frames::prepare;
pub use link::{Gone, Link};
pub(crate) use serve::listen;
pub use serve::{Answers, Peer, Service, serve};
