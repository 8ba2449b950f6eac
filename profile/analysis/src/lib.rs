//! Analyses a recording: which locks cost time, at which lines of the source, and which threads
//! held them meanwhile.
//!
//! Three steps:
//!
//! 1. `build` sums the rows of a recording's files by lock, by call site and by thread, and gets
//!    the names of addresses from `syncline-code`;
//! 2. [`model`] is the result: plain data in seconds and names, independent of how it was recorded;
//! 3. `findings` applies rules to the model, which find what is wrong, and `gain` predicts how much
//!    time a fix would save.
//!
//! ```no_run
//! use syncline_analysis::{Analysis, Options, name};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let analysis = Analysis::load("syncline-recording".as_ref(), &Options::default())?;
//! for process in &analysis.processes {
//!     for lock in &process.locks {
//!         println!("{}: {} s waited", name::lock(lock), lock.figures.waited);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! This crate measures nothing, shows nothing (`syncline-report` does), and does not merge
//! processes, whose addresses and threads are unrelated.

mod analysis;
mod build;
pub mod diff;
mod findings;
mod gain;
mod held;
mod inspections;
mod live;
pub mod model;
pub mod name;
mod options;
mod path;
mod runs;
mod written;

pub use analysis::Analysis;
pub use inspections::{InFile, Inspections};
pub use live::{Live, LockRates, Rates, ThreadWait};
pub use options::{Options, Progress, Thresholds};
pub use runs::together;
pub use syncline_recording::Error;
