//! Ranks on one machine: processes or threads that share one mapping.
//!
//! ```text
//!   segment   the file that all ranks map: which processes the ranks are, and their parts
//!   copy      copies bytes of shared memory, word by word
//!   rank      the operations of a rank
//!   launch    starts ranks as processes, and as threads
//! ```
//!
//! Words are changed by the processor's atomic instructions; puts and gets are copies. The mapping
//! outlives the ranks: when a rank dies, all parts remain, and no operation fails.

mod copy;
mod launch;
mod rank;
mod segment;

pub use launch::Job;
pub use rank::Host;
pub use segment::Error;
