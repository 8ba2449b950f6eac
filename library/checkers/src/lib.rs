//! Memories whose accesses a checker controls. The locks' own code runs over them, unchanged.
//!
//! [`Loom`] explores executions one by one, with C11's weak orderings, up to its bounds;
//! [`Shuttle`] draws sequentially consistent executions at random, and can handle larger cases.
//! [`Segments`] is built over one of these, or over the native memory, and has the restrictions of
//! a memory that several ranks share.

pub mod cases;
mod engine;
mod failure;
mod loom;
mod native;
mod nodes;
mod segments;
mod shuttle;

pub use engine::Engine;
pub use failure::{failure, random_failure};
pub use loom::{Bounds, Executions, Explored, Loom, model};
pub use segments::{Looks, Segments, looks};
pub use shuttle::{Shuttle, dying, is_dead, randomly, survived};
