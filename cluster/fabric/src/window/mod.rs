//! A memory for the lock library: its words are in ranks' parts, and are accessed by a fabric's
//! operations.
//!
//! ```text
//!   region   addresses that stand for a rank and an offset in its part
//!   words    words, links and data, and how they are accessed on a fabric
//!   memory   lock nodes, pauses and time
//!   placed   locks at positions in a part
//! ```
//!
//! [`Region::lock`] gives the lock at a position in a part. This lock is used like any other lock
//! of the catalogue, with a type such as `Mcs<Spin, Window<Host>>`. Every access to a word is one
//! of the fabric's atomic operations. Each is complete when it returns, so every memory ordering
//! that a lock's code requests is kept. [`Memory::releasing`] flushes the puts of a critical
//! section. Code that uses a lock directly calls this function before it releases the lock.
//!
//! Waiters pause by the fabric's own means, which take into account where the word is
//! ([`Memory::pause_at`]). Yielding and parking are such pauses too, so a waiter spins under every
//! waiting policy. Threads are grouped by the machines of their ranks.
//!
//! On a fabric whose parts die with their ranks, an access to a lock in a dead rank's part panics.
//! On `Host` the part stays, but a lock that a dead rank held is never released. So a rank that
//! must survive other ranks uses neither locks that they use nor locks in their parts. The hash
//! table is written that way.

mod memory;
mod placed;
mod region;
mod words;

pub use memory::Window;
pub use region::{Distance, Region};
pub use words::{WindowData, WindowLink, WindowWord};
