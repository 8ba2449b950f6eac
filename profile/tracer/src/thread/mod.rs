//! The state of a thread: its writer, its stack, the counts of its acquisitions, and more.
//!
//! ```text
//!   list      the list of all threads; a thread is added, and finds its own entry
//!   state     the state of a thread
//!   counts    counts its acquisitions, in a table (`rows`)
//!   often     samples acquisitions at busy call sites
//!   stack     the bounds of its stack, and whether it has left that of the engine
//! ```

mod counts;
mod list;
pub mod often;
mod rows;
mod stack;
mod state;

pub use list::{current, existing, flush_all};
pub use state::Thread;
