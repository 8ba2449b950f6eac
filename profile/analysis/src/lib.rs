//! Turns a recording into answers: which locks cost time, where in the source, and which thread was
//! in the way.
//!
//! Three steps:
//!
//! 1. `build` adds up the rows of a recording's files, by lock, by call site and by thread,
//!    and asks `syncline-code` what the addresses mean;
//! 2. [`model`] is the outcome: plain data in seconds and names, with no trace of how it
//!    was recorded;
//! 3. `findings` says what is wrong, by rules over the model, and `gain` predicts what a fix would
//!    save.
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
