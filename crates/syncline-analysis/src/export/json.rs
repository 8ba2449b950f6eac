//! The JSON report, and the timeline that it leaves out.

use std::io::{self, Write};

use serde::Serialize;

use crate::Analysis;
use crate::model::Timeline;
use crate::report;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    analysis: &'a Analysis,
    /// One for each process, in the same order.
    timelines: Vec<&'a Timeline>,
}

/// Writes the document of [`report::json`] with one more field, `timelines`: what the threads
/// of each process did when, as [`Timeline`].
///
/// # Errors
/// Those of `out`.
pub fn json(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let timelines = analysis.processes.iter().map(|process| &process.timeline).collect();
    serde_json::to_writer(&mut *out, &Document { schema: report::SCHEMA, analysis, timelines })?;
    writeln!(out)
}
