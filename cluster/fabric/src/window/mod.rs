//! A memory for the lock library: words that lie in ranks' parts, accessed by a fabric's
//! operations.
//!
//! ```text
//!   region   addresses that stand for ranks and displacements
//!   words    words, links and data: what an access to one is on a fabric
//!   memory   nodes, pauses and time
//!   placed   locks at positions in a part
//! ```
//!
//! A lock of the catalogue is placed in a part by its address there ([`Region::lock`]), and used as
//! anywhere else: `Mcs<Spin, Window<Host>>`. Every access to a word is one of the fabric's atomic
//! operations, which is complete when it returns, so each ordering that a lock's code requests is
//! kept. The puts of a section are flushed by [`Memory::releasing`], which the user of a bare lock
//! calls before releasing it.
//!
//! Waiters pause by the fabric, which knows where their word is ([`Memory::pause_at`]). So the
//! policy is [`Spin`](syncline::wait::Spin). Threads are grouped by the machines that their ranks
//! are on.
//!
//! A word whose rank has died can't be accessed, and a lock that needs it panics. A rank that may
//! outlive others therefore uses none of their locks; the hash table is written that way.

mod memory;
mod placed;
mod region;
mod words;

pub use memory::Window;
pub use region::{Distance, Region};
pub use words::{WindowData, WindowLink, WindowWord};
