//! Memory that the ranks of one host share, and locks' [`Memory`](syncline::memory::Memory) in it.
//!
//! ```text
//!   region   the range of addresses that each process reserves for all segments
//!   share    a segment: one rank makes it, the others open it, at one position of all regions
//!   barrier  a barrier between processes that is nearly free on one side
//!   turn     what runs while a lock waits, and how a wait is abandoned
//!   memory   words and links in segments; a link holds a distance from the start of the region
//! ```
//!
//! A reference between nodes must mean the same in all processes, although their regions start at
//! different addresses. So the ranks agree on a segment's distance from the start of the region,
//! which is the same in all processes. A node is identified by its distance from that start, and
//! following a reference takes one addition.

mod barrier;
mod memory;
mod region;
mod share;
mod turn;

pub use barrier::{can_interrupt, use_fences};
pub use memory::Segment;
pub use region::{Area, position};
pub use share::{TICKET, Ticket, make, open};
pub use turn::{as_server, in_coroutine, unless};
