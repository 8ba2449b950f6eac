//! The analysis as one JSON document, for programs. `docs/report-json.md` describes it field
//! by field; a test holds the two together.

use std::io::{self, Write};

use serde::Serialize;

use crate::Analysis;

/// The name and version of the document's format. The number changes when a field is
/// removed, or changes its meaning; new fields may come at any time.
pub const SCHEMA: &str = "syncline-report/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// Writes the analysis as JSON, ended by a newline.
///
/// # Errors
/// Those of `out`.
pub fn json(analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document { schema: SCHEMA, analysis })?;
    writeln!(out)
}
