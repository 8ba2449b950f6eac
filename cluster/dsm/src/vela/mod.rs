//! *Vela*: synchronization that stays within a node while it can.
//!
//! ```text
//!   meeting   a barrier of ranks: those of a machine, then the machines
//!   global    a lock of all ranks with Carina's fences, as a lock of this process
//! ```
//!
//! The cohort lock and the hierarchical queue delegation are the library's, each over a [`Global`]
//! lock. Within a node they hand over in the node's memory and without fences. Only the thread that
//! acquires the global lock performs the acquire fence, and only the thread that releases it
//! performs the release fence (Kaxiras et al., HPDC'15, section 4.2).

mod global;
mod meeting;

pub use global::{Fences, Global};
pub use meeting::{Meeting, wait};
