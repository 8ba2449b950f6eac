//! Compares a report on a real program with what is known about the program.

use std::path::Path;

use anyhow::Context;
use syncline_analysis::model::{Finding, Process, Stuck};
use syncline_analysis::{Analysis, Options};

use crate::programs::description::Description;

/// A finding on a program without a problem is an alarm if its predicted gain is at least this
/// share of the run time.
const ALARM: f64 = 0.02;
/// The number of findings that a user is assumed to read.
const FIRST: usize = 2;

/// The result of one recorded run.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// The position of the right finding in the list, from 0; `None` if it is not among the first
    /// two.
    pub found: Option<usize>,
    /// The gain that this finding predicts, as a share of the run time.
    pub promised: Option<f64>,
    /// The wrong findings, each with its rule and position.
    pub false_alarms: Vec<String>,
}

/// Judges a recording by the process whose threads lived longest in total.
pub fn of_recording(known: &Description, recording: &Path) -> anyhow::Result<Verdict> {
    let analysis = Analysis::load(recording, &Options::default())?;
    let longest = |a: &Process, b: &Process| a.thread_seconds.total_cmp(&b.thread_seconds);
    let process = analysis.processes.into_iter().max_by(longest);
    let process = process.context("nothing was recorded")?;
    Ok(if is_seen_to_hang(known, &process) {
        Verdict { found: Some(0), promised: None, false_alarms: Vec::new() }
    } else {
        judge(known, &process.findings)
    })
}

/// Whether the report says that threads can't go on, with the right reason and position.
fn is_seen_to_hang(known: &Description, process: &Process) -> bool {
    let (Some(place), Some(remedy)) = (&known.place, &known.remedy) else { return false };
    let name = |stuck: &Stuck| stuck.trap.in_words().0.to_lowercase();
    process.stuck.iter().any(|stuck| place.is_match(&stuck.why) && remedy.is_match(&name(stuck)))
}

fn judge(known: &Description, findings: &[Finding]) -> Verdict {
    let title =
        |f: &Finding| format!("{:?} {} {}", f.rule.about().category, f.rule.name(), f.title);
    let matches = |pattern: &Option<regex::Regex>, text: &str| {
        pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    };
    let is_right = |f: &Finding| {
        matches(&known.place, &f.place)
            && matches(&known.remedy, &title(f))
            && !matches(&known.advice_not, &f.advice)
    };
    let promised = |f: &Finding| f.gain.map(|gain| gain.share);
    let is_false = |f: &&Finding| {
        let named = format!("{} {}", f.rule.name(), f.place);
        let alarm = !known.has_problem()
            && promised(f).is_some_and(|share| share >= ALARM)
            && !matches(&known.allowed, &named);
        alarm || matches(&known.false_, &named)
    };
    let found = findings.iter().take(FIRST).position(is_right);
    let false_alarms = findings.iter().filter(is_false);
    Verdict {
        found,
        promised: found.and_then(|found| promised(&findings[found])),
        false_alarms: false_alarms.map(|f| format!("{} at {}", f.rule.name(), f.place)).collect(),
    }
}
