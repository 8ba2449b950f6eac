//! The critical path.

use std::io::{self, Write};

use super::text::{heading, paragraph};
use crate::path::{lines, remarks};
use syncline_analysis::model::Process;
use syncline_present::terminal::{Style, printable};

/// Writes the critical path: what the end of the run waited for.
pub fn path(process: &Process, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let lines = lines(process);
    if lines.is_empty() {
        return Ok(());
    }
    heading("CRITICAL PATH", "what the end of the run waited for, traced back", out, style)?;
    for (share, what, details) in lines {
        let start = format!("  {share:>6}  {what:<13}  ");
        paragraph(&start, &printable(&details), out, style)?;
    }
    for remark in remarks(process) {
        paragraph("     -> ", &printable(&remark), out, style)?;
    }
    Ok(())
}
