//! Compares the findings of two recordings.

use std::collections::BTreeMap;

use serde::Serialize;

use super::place::Place;
use crate::model::{Finding, Gain, Process, Rule};

/// A predicted gain that changed by less than this share of the run time counts as unchanged, since
/// it differs by as much between two runs of one program.
const LEAST_CHANGE: f64 = 0.01;

/// How a finding has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The first recording lacks it.
    New,
    /// Its gain is larger or smaller than before.
    Changed,
    /// The second recording lacks it.
    Gone,
    /// Its gain is about as before.
    Same,
}

/// A finding, in the recording before a change of the program and in the one after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingChange {
    /// How it has changed.
    pub fate: Fate,
    /// Which rule found it.
    pub rule: Rule,
    /// What is wrong, in the words of the second recording if that has the finding.
    pub title: String,
    /// The call site, in the words of the second recording if that has the finding.
    pub place: String,
    /// The predicted gain before; `None` if unknown, or without the finding.
    pub before: Option<Gain>,
    /// The predicted gain after; `None` if unknown, or without the finding.
    pub after: Option<Gain>,
}

/// Compares the findings of two processes.
pub fn changes(before: &Process, after: &Process) -> Vec<FindingChange> {
    let mut earlier: BTreeMap<Key, Vec<&Finding>> = BTreeMap::new();
    for finding in before.findings.iter().rev() {
        earlier.entry(key(finding, before)).or_default().push(finding);
    }
    let mut changes = Vec::new();
    for finding in &after.findings {
        // If a rule has several findings at one call site, they are paired in their order, those
        // with most to gain first.
        let was = earlier.get_mut(&key(finding, after)).and_then(Vec::pop);
        changes.push(change(was, Some(finding)));
    }
    changes.extend(earlier.into_values().flatten().map(|was| change(Some(was), None)));
    let worth = |change: &FindingChange| {
        let gain = change.after.or(change.before);
        gain.map_or(0.0, |gain| gain.share)
    };
    changes.sort_by(|a, b| a.fate.cmp(&b.fate).then(worth(b).total_cmp(&worth(a))));
    changes
}

/// The key that identifies a finding in every recording of a program.
pub(crate) type Key = (Rule, Place);

/// The key of a process's finding.
pub(crate) fn key(finding: &Finding, process: &Process) -> Key {
    let site = finding.sites.first().map(|&site| &process.sites[site]);
    let place = match site.and_then(|site| site.frame) {
        Some(frame) => Place::of(&process.frames[frame], process),
        None => Place { function: finding.place.clone(), file: None },
    };
    (finding.rule, place)
}

fn change(before: Option<&Finding>, after: Option<&Finding>) -> FindingChange {
    let share = |finding: &Finding| finding.gain.map_or(0.0, |gain| gain.share);
    let fate = match (before, after) {
        (None, _) => Fate::New,
        (_, None) => Fate::Gone,
        (Some(a), Some(b)) if (share(a) - share(b)).abs() >= LEAST_CHANGE => Fate::Changed,
        _ => Fate::Same,
    };
    let shown = after.or(before).expect("a finding of one of them");
    FindingChange {
        fate,
        rule: shown.rule,
        title: shown.title.clone(),
        place: shown.place.clone(),
        before: before.and_then(|finding| finding.gain),
        after: after.and_then(|finding| finding.gain),
    }
}
