//! Experiments on a recorded program, of many runs each.
//!
//! ```text
//!   search     tries each target's candidates, with the rules kept so far (`syncline tune`)
//!   slowed     delays call sites by several sizes, and measures the response (`syncline whatif`)
//!   counts     the file in which the delaying library counts
//!   document   the results of `whatif`, as they are saved in a recording's folder
//! ```
//!
//! `syncline-targets` chooses the targets that are worth an experiment, and `syncline-try` makes
//! the runs. The caller finds the preloaded libraries and shows the progress.

mod counts;
mod document;
mod search;
mod slowed;

pub use document::{Document, add_to};
pub use search::{Search, Tried, Variables};
pub use slowed::{Error, Measured, Slowed, Slowing};
