//! `./x accuracy --programs DIR`: the accuracy of reports on real programs that others wrote, on an
//! idle machine and on a busy one.
//!
//! The folder has the built programs. For each program it has a small file with the command and
//! what is known about the program ([`crate::programs::description`]). Neither the programs'
//! sources nor their build scripts are in this repository.

mod report;
mod row;
mod runs;
mod verdict;
mod whatif;

use std::path::Path;

use serde::Serialize;

use crate::lab::Lab;
use crate::programs::description;
use crate::recorder::Recorder;
use crate::rounds;
use crate::size::Size;
use crate::statistics::not_above;

use row::Row;
use runs::{Busy, Shown};

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    /// The number of programs with a problem.
    problems: usize,
    /// The number of programs whose problem is among the first two findings in every run, idle and
    /// busy.
    found_first_two: usize,
    /// The number of programs with a false finding in more than half of the idle or of the busy
    /// runs.
    false_alarms: usize,
    /// The 75th percentile of the errors of predicted gains, in percentage points.
    gain_error_p75: Option<f64>,
    /// The 75th percentile of the differences between the bounds that `syncline whatif` measures
    /// and the gains of the fixes, in percentage points.
    whatif_error_p75: Option<f64>,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  problems           programs with a problem
  found_first_two    those whose problem is among the first two findings in all runs, idle and busy
  false_alarms       programs with a false finding in most runs
  gain_error_p75     error of predicted gains in percentage points: the 75th percentile
  whatif_error_p75   difference between the bounds of `whatif` and the gains, likewise
";

/// Runs all programs of a folder, prints the table, and returns the JSON line. With `markdown` it
/// writes the table into `docs/accuracy.md` too.
///
/// # Errors
///
/// If a program could not be run. The error has the JSON line of the other programs.
pub fn run(folder: &Path, size: Size, markdown: bool) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let recorder = Recorder::find(&lab)?;
    let programs = description::all(folder)?;
    let times = size.pick(1, 1, 5);
    let bar = rounds::bar((2 * times * programs.len()) as u64)?;
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    let say = |line: String| bar.suspend(|| println!("{line}"));
    say(report::head());
    for known in programs {
        bar.set_message(known.name.clone());
        let all = || -> anyhow::Result<(Shown, Option<f64>, Shown)> {
            let idle = runs::of(&known, times, &lab, &recorder, &bar)?;
            let bound = match idle.is_first() && !known.mended.is_empty() {
                true => whatif::bound(&known, &lab, &recorder),
                false => Ok(None),
            };
            let bound = bound.unwrap_or_else(|error| {
                say(format!("  {}: not measured by whatif: {error:#}", known.name));
                None
            });
            let _loops = Busy::new()?;
            Ok((idle, bound, runs::of(&known, times, &lab, &recorder, &bar)?))
        };
        match all() {
            Ok((idle, bound, busy)) => {
                rows.push(Row { known, idle, bound, busy });
                say(report::text(&rows[rows.len() - 1]));
            }
            // The other programs may have run for an hour, so their results are kept.
            Err(error) => {
                say(format!("  {}: {error:#}", known.name));
                failed.push(known.name);
            }
        }
    }
    bar.finish_and_clear();
    if markdown {
        super::document::write(super::document::PROGRAMS, &report::markdown(&rows))?;
    }
    let summary = serde_json::to_string(&summary(&rows))?;
    anyhow::ensure!(
        failed.is_empty(),
        "{} {} not in the figures, and the lines above say why; the figures of the other programs: \
         {summary}",
        failed.join(", "),
        if failed.len() == 1 { "is" } else { "are" }
    );
    Ok(summary)
}

fn summary(rows: &[Row]) -> Summary {
    let error = |of: fn(&Row) -> Option<f64>| {
        not_above(0.75, rows.iter().filter_map(of).collect()).map(f64::round)
    };
    Summary {
        problems: rows.iter().filter(|row| row.known.has_problem()).count(),
        found_first_two: rows.iter().filter(|row| row.is_found()).count(),
        false_alarms: rows.iter().filter(|row| row.has_false_alarm()).count(),
        gain_error_p75: error(Row::gain_error),
        whatif_error_p75: error(Row::bound_error),
    }
}
