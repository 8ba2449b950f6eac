//! The report for a terminal: what matters most first, on one screen.
//!
//! The process that lost most time waiting for locks is shown with its findings, and each
//! other process in one line. The tables that findings rest on come when asked for, or where
//! there is no finding.

mod diff;
mod findings;
mod locks;
mod summary;

use std::io::{self, Write};

use crate::process;
pub use diff::diff;
use syncline_analysis::Analysis;
use syncline_analysis::model::Process;
use syncline_present::number;
use syncline_present::terminal::{Paint, Style, cell, printable, table};

/// Processes that get a line of their own.
const PROCESSES: usize = 10;

/// How much a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What is wrong; the tables of locks and call sites only where nothing is.
    Findings,
    /// All tables, too.
    Tables,
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
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

/// A heading, and what it means.
fn heading(title: &str, remark: &str, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let title = Paint::Bold.on(title, style);
    let remark = Paint::Dim.on(remark, style);
    writeln!(out, "\n{}", format!("{title}  {remark}").trim_end())
}

/// What a table left out. The thing counted is told in the singular.
fn more(count: usize, one: &str, out: &mut impl Write, style: &Style) -> io::Result<()> {
    match count {
        0 => Ok(()),
        _ => {
            let (noun, rest) = one.split_once(' ').map_or((one, ""), |(noun, rest)| (noun, rest));
            let plural = match (count, noun) {
                (1, _) => noun.to_owned(),
                (_, "process") => "processes".to_owned(),
                _ => format!("{noun}s"),
            };
            let text = format!("… and {} more {plural} {rest}", number::grouped(count as u64));
            writeln!(out, "  {}", Paint::Dim.on(text.trim_end(), style))
        }
    }
}

/// A paragraph, broken to the width. The first line starts with `start`, the others with as
/// many spaces.
fn paragraph(start: &str, text: &str, out: &mut impl Write, style: &Style) -> io::Result<()> {
    let indent = start.chars().count();
    let mut line = start.to_owned();
    for word in together(text) {
        let length = line.chars().count();
        if length > indent && length + 1 + word.chars().count() > style.width() {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
        } else if length > indent {
            line.push(' ');
        }
        line.push_str(&word);
    }
    writeln!(out, "{line}")
}

/// The words of a text, a number with its unit as one.
fn together(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match words.last_mut() {
            Some(number) if number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_with_its_unit() {
        let text = ["waited 3.61 s"; 12].join(", ");
        let mut out = Vec::new();
        paragraph("  - ", &text, &mut out, &Style::default()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().count() > 1, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with('s')), "{text}");
    }
}
