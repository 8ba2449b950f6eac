//! *Vela*: locks and barriers that stay within a node as long as they can.
//!
//! ```text
//!   meeting   a barrier of ranks: first those of each machine, then the machines
//!   global    a lock of all ranks with Carina's fences, which this process uses like its own locks
//! ```
//!
//! The cohort lock and the hierarchical queue delegation are the library's, each with a [`Global`]
//! lock as its global lock. Between threads of a node they pass the lock in the node's memory,
//! without fences. Only the thread that acquires the global lock performs the acquire fence, and
//! only the thread that releases it performs the release fence (Kaxiras et al., HPDC'15, section
//! 4.2).

mod global;
mod meeting;

pub use global::{Fences, Global};
pub use meeting::{Meeting, wait};
