//! A memory of the lock library: words that lie in ranks' parts, reached by a fabric's operations.
//!
//! ```text
//!   region   addresses that stand for ranks and displacements
//!   words    words, links and data: what an access to one is on a fabric
//!   memory   nodes, pauses and time
//!   placed   locks at places
//! ```
//!
//! A lock of the catalogue is placed in a part by its address there ([`Region::lock`]), and used as
//! anywhere else: `Mcs<Spin, Window<Host>>`. Every access to a word is one of the fabric's atomic
//! operations, complete when it returns; so each ordering that a lock's text asks for is kept, and
//! what a section has put is flushed by [`Memory::releasing`], which who uses a bare lock calls
//! before it releases.
//!
//! Waiting is the fabric's, which knows where the word is ([`Memory::pause_at`]): so the policy is
//! [`Spin`](syncline::wait::Spin). Groups of near threads are the machines that ranks are on.
//!
//! A word whose rank has died can't be reached, and a lock that needs it panics; who may outlive
//! others uses no lock of theirs, as the hash table does.

mod memory;
mod placed;
mod region;
mod words;

pub use memory::Window;
pub use region::{Distance, Region};
pub use words::{WindowData, WindowLink, WindowWord};
