//! Shows an analysis: on a terminal, as a page for a browser, as JSON for programs, and in the
//! formats of other tools.
//!
//! ```no_run
//! use syncline_analysis::{Analysis, Options};
//! use syncline_present::terminal::Style;
//! use syncline_report::{Extent, terminal};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let analysis = Analysis::load("syncline-recording".as_ref(), &Options::default())?;
//! terminal(&analysis, Extent::Findings, &mut std::io::stdout(), &Style::default())?;
//! # Ok(())
//! # }
//! ```
//!
//! This crate analyses nothing. Except for the lines of source in the page, all that it shows is in
//! the analysis. Every format shows the same figures.

pub mod export;
mod html;
mod json;
mod path;
mod process;
mod terminal;
pub mod whatif;

pub use html::html;
pub use json::{DIFF_SCHEMA, SCHEMA, diff_json, json};
pub use terminal::{Extent, diff as terminal_diff, terminal};
