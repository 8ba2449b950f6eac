//! Experiments on a recorded program, of many runs each.
//!
//! ```text
//!   search     the locks of `syncline tune`: for each target the candidates, on top of what is kept
//!   slowed     the delays of `syncline whatif`: call sites in several sizes, and what comes of it
//!   counts     the file in which the delaying library counts
//!   document   what `whatif` has measured, as it lies in a recording's folder
//! ```
//!
//! `syncline-targets` chooses the targets that are worth an experiment, and `syncline-try` makes the
//! runs. The caller finds the preloaded libraries and shows the progress.

mod counts;
mod document;
mod search;
mod slowed;

pub use document::{Document, add_to};
pub use search::{Search, Tried, Variables};
pub use slowed::{Error, Measured, Slowed, Slowing};
