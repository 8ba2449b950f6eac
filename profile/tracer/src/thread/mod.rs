//! The data of a thread: its writer, its stack, and the counts of its acquisitions.
//!
//! ```text
//!   list      all threads: how one begins and ends, and is found by itself
//!   state     what is known of one
//!   counts    its acquisitions, counted in a table (rows)
//!   often     call sites of which not all acquisitions are looked at
//!   stack     where its stack lies, and when it has left the engine's
//! ```

mod counts;
mod list;
pub mod often;
mod rows;
mod stack;
mod state;

pub use list::{current, existing, flush_all};
pub use state::Thread;
