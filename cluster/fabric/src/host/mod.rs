//! Ranks of one machine: processes or threads, over one shared mapping.
//!
//! ```text
//!   segment   the file that all ranks map: their processes, then a part for each
//!   copy      bytes of shared memory, word by word
//!   rank      a rank's operations
//!   launch    ranks as processes, and as threads
//! ```
//!
//! Words are changed by the processor's atomics; puts and gets are copies. The mapping outlives the
//! ranks: after a death all parts remain, and no operation fails.

mod copy;
mod launch;
mod rank;
mod segment;

pub use launch::Job;
pub use rank::Host;
pub use segment::Error;
