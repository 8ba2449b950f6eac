//! Memory that the ranks of one host share, and the [`Memory`](syncline::memory::Memory) over it
//! for locks.
//!
//! ```text
//!   region   a range of addresses that each process reserves, for all segments
//!   share    a segment: made by one rank, opened by the others, at one position in their regions
//!   barrier  a barrier between processes, nearly free on one side
//!   turn     what runs while a lock waits, and how a wait is abandoned
//!   memory   words and links in segments; a link holds the distance from the region's start
//! ```
//!
//! A reference between nodes must mean the same in all processes, whose regions start at different
//! addresses. The ranks agree on each segment's distance from the region's start, which is the same
//! in all of them. So a distance identifies a node, and following it takes one addition.

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
