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
    // The category is named as in the JSON report.
    let title = |f: &Finding| {
        let category = serde_json::json!(f.rule.about().category);
        format!("{category} {} {}", f.rule.name(), f.title)
    };
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

#[cfg(test)]
mod tests {
    use syncline_analysis::model::{Gain, Method, Remedy, Rule};

    use super::*;
    use crate::programs::description::all;

    fn known(text: &str) -> Description {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("shop")).expect("a folder");
        let text = format!("version = '1'\ncommand = ['./shop']\n{text}");
        std::fs::write(folder.path().join("shop.toml"), text).expect("a description");
        all(folder.path()).expect("a program").remove(0)
    }

    fn found(rule: Rule, place: &str, share: f64) -> Finding {
        Finding {
            rule,
            title: "Many threads want one lock, each for a moment".to_owned(),
            place: place.to_owned(),
            sites: Vec::new(),
            locks: Vec::new(),
            evidence: Vec::new(),
            advice: "Split what the lock protects.".to_owned(),
            open_question: None,
            remedy: Remedy::Unknown,
            gain: Some(Gain { share, seconds: share, method: Method::Replay }),
        }
    }

    #[test]
    fn the_right_finding_has_the_place_and_the_remedy_and_is_one_of_the_first_two() {
        let right = found(Rule::TooMuchData, "insert at table.c:40", 0.2);
        let other = found(Rule::Convoy, "log at log.c:7", 0.1);
        let position = |remedy: &str, findings: &[Finding]| {
            let text = format!("place = 'table\\.c'\nremedy = '{remedy}'");
            judge(&known(&text), findings).found
        };
        let all = [other.clone(), right.clone()];
        for remedy in ["granularity", "too-much-data", "want one lock"] {
            assert_eq!(position(remedy, &all), Some(1), "{remedy}");
        }
        assert_eq!(position("atomic", &all), None);
        assert_eq!(position("granularity", &[other.clone(), other, right]), None, "third");
    }

    #[test]
    fn a_finding_with_a_gain_on_a_program_without_a_problem_is_an_alarm() {
        let alarms = |text: &str, share| {
            let finding = found(Rule::Convoy, "log at log.c:7", share);
            judge(&known(text), &[finding]).false_alarms.len()
        };
        assert_eq!([alarms("", 0.02), alarms("", 0.019)], [1, 0]);
        assert_eq!(alarms("allowed = 'convoy log'", 0.5), 0);
        assert_eq!(alarms("place = 'a'\nremedy = 'b'", 0.5), 0, "it has a problem");
        assert_eq!(alarms("false = 'convoy'", 0.0), 1);
    }
}
