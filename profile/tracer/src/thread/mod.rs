//! The state of a thread, among it its writer, its stack, and the counts of its acquisitions.
//!
//! ```text
//!   list      all threads: one is added, finds its own entry, and ends
//!   state     the state of a thread
//!   counts    its acquisitions, counted in a table (rows)
//!   often     call sites whose acquisitions are sampled
//!   stack     the bounds of its stack, and whether it has left the engine's
//! ```

mod counts;
mod list;
pub mod often;
mod rows;
mod stack;
mod state;

pub use list::{current, existing, flush_all};
pub use state::Thread;
