//! The JSON report, and the timeline that it leaves out.

use std::io::{self, Write};

use serde::Serialize;
use syncline_analysis::Analysis;
use syncline_analysis::model::Timeline;

use crate::json::{SCHEMA, write};

#[derive(Serialize)]
struct WithTimelines<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    /// The timeline of each process, in the same order.
    timelines: Vec<&'a Timeline>,
}

/// Writes the document of [`crate::json`] with one more field, `timelines`: the [`Timeline`] of
/// each process.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn json(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let timelines = analysis.processes.iter().map(|process| &process.timeline).collect();
    write(SCHEMA, &WithTimelines { analysis, timelines }, out)
}
