//! An analysis, or the difference between two recordings, as one JSON document for programs.
//! `docs/report-json.md` describes both documents field by field; a test compares it with the
//! documents that are written.

use std::io::{self, Write};

use serde::Serialize;
use syncline_analysis::Analysis;
use syncline_analysis::diff::Diff;

/// The name and version of the report's format. The number changes when a field is removed or
/// changes its meaning; new fields may be added at any time.
pub const SCHEMA: &str = "syncline-report/1";

/// The name and version of a difference's format. The number changes for the same reasons as that
/// of [`SCHEMA`].
pub const DIFF_SCHEMA: &str = "syncline-diff/1";

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    content: &'a T,
}

/// Writes content as a document of the format `schema`, followed by a newline.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn write(
    schema: &'static str,
    content: &impl Serialize,
    out: &mut impl Write,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document { schema, content })?;
    writeln!(out)
}

/// Writes the analysis as JSON, followed by a newline.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn json(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    write(SCHEMA, analysis, out)
}

/// Writes the differences as JSON, followed by a newline.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn diff_json(diff: &Diff, out: &mut impl Write) -> io::Result<()> {
    write(DIFF_SCHEMA, diff, out)
}
