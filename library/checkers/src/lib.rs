//! Memories of checkers: the locks' own text runs over them.
//!
//! [`Loom`] explores executions one by one, with C11's weak orderings, as far as its bounds go;
//! [`Shuttle`] draws executions at random, sequentially consistent, and so takes larger cases.

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
