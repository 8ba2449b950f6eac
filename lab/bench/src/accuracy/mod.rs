//! `./x accuracy`: whether `syncline report` finds the problems of the programs in `workloads/`,
//! reports nothing about well-made programs, and predicts the gain of a fix.
//!
//! Each program in `workloads/` has a problem, whose line is marked in its source, and with
//! `--fixed` it has none. The programs in `workloads/clean/` have no problem. Every variant is
//! recorded as a user would record it. A problem is found if a finding has the right rule and the
//! right line. Any finding about a variant without a problem is a false alarm, unless a mark says
//! that it is true of this variant too ([`marks`]). The gain of the fix is measured without
//! recording, in pairs of runs (`docs/accuracy.md`).

mod document;
mod marks;
mod measure;
mod outcome;
pub mod programs;
mod report;
mod verdict;
pub mod workloads;

use serde::Serialize;

use crate::lab::Lab;
use crate::recorder::Recorder;
use crate::rounds;
use crate::size::Size;
use crate::statistics::median;

use measure::Runs;
use outcome::Outcome;

/// The last line of output.
#[derive(Serialize)]
struct Summary {
    /// The number of workloads with a problem.
    problems: usize,
    /// The number of workloads whose problem was found in more than half of the runs, by the right
    /// rule at the right line.
    found: usize,
    /// The number of workloads whose problem was found in the stripped program, which has no names
    /// and lines: by the right rule, in more than half of the runs.
    found_stripped: usize,
    /// The number of variants without a problem that had a false alarm in more than half of the
    /// runs.
    false_alarms: usize,
    /// The names of the missed problems, and of the variants with a false alarm.
    wrong: Vec<String>,
    /// The median difference between predicted and measured gains, as a share of the run time, over
    /// the problems that were found. `None` if nothing was predicted.
    gain_error_median: Option<f64>,
}

/// The fields of the last line, as `--help` describes them.
pub const FIELDS: &str = "
  problems           workloads with a problem
  found              those found in most runs, by the right rule at the right line
  found_stripped     those found in most runs of the stripped program, by the right rule
  false_alarms       fixed and clean variants with a finding in most runs that is not marked to remain
  wrong              names of the problems not found, and of the variants with false alarms
  gain_error_median  median difference of predicted and measured gain, as shares of the time
";

/// Runs all workloads, prints the tables, and returns the JSON line. With `markdown` it writes the
/// tables into `docs/accuracy.md` too.
pub fn run(size: Size, markdown: bool) -> anyhow::Result<String> {
    let lab = Lab::new(size)?;
    let recorder = Recorder::find(&lab)?;
    let workloads = workloads::all()?;
    let runs = Runs::of(size);
    let bar = rounds::bar(workloads.iter().map(|w| runs.steps(w)).sum())?;
    let mut outcomes = Vec::new();
    for workload in &workloads {
        bar.set_message(workload.name.clone());
        outcomes.push(runs.outcome(workload, &lab, &recorder, &bar)?);
    }
    bar.finish_and_clear();

    report::print(&outcomes);
    if markdown {
        document::write(document::WORKLOADS, &report::markdown(&outcomes))?;
    }
    Ok(serde_json::to_string(&summary(&outcomes))?)
}

fn summary(outcomes: &[Outcome]) -> Summary {
    let problems = || outcomes.iter().filter_map(|o| o.problem.as_ref());
    let missed = outcomes.iter().filter(|o| o.is_missed()).map(|o| o.name.clone());
    let blamed = outcomes.iter().filter(|o| o.is_false_alarm()).map(Outcome::sound_variant);
    let errors: Vec<f64> = outcomes.iter().filter_map(Outcome::gain_error).collect();
    Summary {
        problems: problems().count(),
        found: outcomes.iter().filter(|o| o.is_found()).count(),
        found_stripped: problems().filter(|p| p.is_seen_stripped()).count(),
        false_alarms: outcomes.iter().filter(|o| o.is_false_alarm()).count(),
        wrong: missed.chain(blamed).collect(),
        gain_error_median: (!errors.is_empty()).then(|| (median(&errors) * 1e4).round() / 1e4),
    }
}
