//! From a recording to what a person wants to know: which locks cost time, where in the
//! source, and who was in the way.
//!
//! Three steps, each in a module of its own:
//!
//! 1. `build` adds up the rows of a recording's files, by lock, by call site and by thread,
//!    and asks `symbols` what the addresses mean;
//! 2. [`model`] is the outcome: plain data in seconds and names, with no trace of how it
//!    was recorded;
//! 3. [`report`] shows a model: on a terminal, as JSON, as an HTML page.
//!
//! ```no_run
//! use syncline_analysis::{Analysis, Options, report};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let analysis = Analysis::load("syncline-recording".as_ref(), &Options::default())?;
//! report::terminal(&analysis, &mut std::io::stdout(), &report::Style::default())?;
//! # Ok(())
//! # }
//! ```
//!
//! What this crate does not do: it measures nothing, and it does not merge processes, whose
//! addresses and threads have nothing to do with each other.

mod analysis;
mod build;
pub mod diff;
pub mod export;
mod findings;
mod gain;
mod inspections;
mod live;
pub mod locate;
pub mod model;
mod options;
pub mod report;
mod runs;
mod section;
pub mod symbols;
mod words;

pub use analysis::Analysis;
pub use inspections::{InFile, Inspections};
pub use live::{Live, LockRates, Rates, ThreadWait};
pub use options::{Options, Progress, Thresholds};
pub use runs::together;
pub use syncline_recording::Error;
