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

use std::path::Path;

use serde::Serialize;

use crate::lab::Lab;
use crate::programs::description;
use crate::recorder::Recorder;
use crate::rounds;
use crate::size::Size;

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
    /// The number of programs with a false finding in more than half of the runs.
    false_alarms: usize,
    /// The 75th percentile of the errors of predicted gains, in percentage points.
    gain_error_p75: Option<f64>,
    /// The 75th percentile of the errors of the gains that `syncline whatif` measures, in
    /// percentage points. Always `None`: this benchmark does not run `whatif` yet.
    whatif_error_p75: Option<f64>,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  problems           programs with a problem
  found_first_two    those whose problem is among the first two findings in all runs, idle and busy
  false_alarms       programs with a false finding in most runs
  gain_error_p75     error of predicted gains in percentage points: the 75th percentile
  whatif_error_p75   always null: `whatif` is not measured
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
        let both = || -> anyhow::Result<(Shown, Shown)> {
            let idle = runs::of(&known, times, &lab, &recorder, &bar)?;
            let _loops = Busy::new()?;
            Ok((idle, runs::of(&known, times, &lab, &recorder, &bar)?))
        };
        match both() {
            Ok((idle, busy)) => {
                rows.push(Row { known, idle, busy });
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
        "not run, and in no figure: {}; the figures of the others: {summary}",
        failed.join(", ")
    );
    Ok(summary)
}

fn summary(rows: &[Row]) -> Summary {
    let mut errors: Vec<f64> = rows.iter().filter_map(Row::gain_error).collect();
    errors.sort_by(f64::total_cmp);
    let at = (0.75 * errors.len() as f64).ceil() as usize;
    Summary {
        problems: rows.iter().filter(|row| row.known.has_problem()).count(),
        found_first_two: rows.iter().filter(|row| row.is_found()).count(),
        false_alarms: rows.iter().filter(|row| row.has_false_alarm()).count(),
        gain_error_p75: errors.get(at.saturating_sub(1)).map(|error| error.round()),
        whatif_error_p75: None,
    }
}
