//! The report for a terminal. It fits one screen, and begins with what matters most.
//!
//! The process that lost the most time waiting for locks is shown with its findings. Each of the
//! next [`PROCESSES`] has one line. The tables on which the findings are based are printed if
//! requested. The tables of locks and call sites are also printed if there are no findings.

mod diff;
mod findings;
mod locks;
mod path;
mod place;
mod summary;
mod text;

use std::io::{self, Write};

use crate::process;
pub use diff::diff;
use syncline_analysis::Analysis;
use syncline_analysis::model::Process;
use syncline_present::number;
use syncline_present::terminal::{Style, cell, printable, table};
use text::{heading, more, paragraph};

/// The most other processes that get a line of their own.
const PROCESSES: usize = 10;

/// The length of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The findings; the tables of locks and call sites only if there are none.
    Findings,
    /// The findings and all tables.
    Tables,
}

/// Writes the report for a terminal.
///
/// # Errors
/// Same errors as writing to `out`.
pub fn terminal(
    analysis: &Analysis,
    extent: Extent,
    out: &mut impl Write,
    style: &Style,
) -> io::Result<()> {
    let Some((first, others)) = analysis.processes.split_first() else {
        return writeln!(out, "nothing was recorded");
    };
    summary::summary(first, out, style)?;
    summary::stuck(first, out, style)?;
    findings::findings(first, out, style)?;
    path::path(first, out, style)?;
    findings::remaining(first, out, style)?;
    let tables = extent == Extent::Tables;
    if tables || first.findings.is_empty() {
        locks::locks(first, out, style)?;
        locks::sites(first, out, style)?;
    }
    if tables {
        locks::quadrants(first, &analysis.thresholds, out, style)?;
        locks::blocking(first, out, style)?;
        locks::others(first, out, style)?;
    }
    summary::waiting_now(first, out, style)?;
    other_processes(others, out, style)?;
    let notes: Vec<String> =
        analysis.notes.iter().chain(&first.notes).map(|n| printable(&n.to_string())).collect();
    if !notes.is_empty() {
        heading("WHAT COULD NOT BE SEEN", "", out, style)?;
    }
    for note in notes {
        paragraph("  - ", &note, out, style)?;
    }
    Ok(())
}

fn other_processes(others: &[Process], out: &mut impl Write, style: &Style) -> io::Result<()> {
    if others.is_empty() {
        return Ok(());
    }
    heading("OTHER PROCESSES", "", out, style)?;
    let line = |process: &Process| {
        [
            cell(number::duration(process.waiting.locks)),
            cell(number::percent(process.lock_share)),
            cell(number::duration(process.waiting.futexes)),
            cell(number::duration(process.waiting.events)),
            cell(process.threads.len().to_string()),
            cell(number::duration(process.seconds)),
            cell(process.pid.to_string()),
            cell(process::command(process)),
        ]
    };
    let titles = ["locks", "share", "futexes", "events", "threads", "ran", "pid", "command"];
    table::write(out, style, titles, others.iter().take(PROCESSES).map(line).collect())?;
    more(others.len().saturating_sub(PROCESSES), "process with less waiting", out, style)
}
