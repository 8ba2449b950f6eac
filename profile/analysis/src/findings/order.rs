//! The order of findings: those with most gain come first. Predictions are off by some points. So
//! of findings with about the same gain, the one whose calls and waits take most time comes first:
//! that time would be the gain if threads had more processors.

use std::cmp::{Ordering, Reverse};

use syncline_recording::Op;

use super::family::{PAIR, descending};
use super::improper_granularity::thread_each::A_THREAD;
use crate::model::{Finding, Kind, Lost, Process, Site};

/// Gains that differ by less are about the same: half of the predictions have at least this error
/// (`docs/accuracy.md`).
const ERROR: f64 = 0.1;

/// Which of two findings comes first.
pub fn compare(process: &Process, a: &Finding, b: &Finding) -> Ordering {
    let step = |finding: &Finding| finding.gain.map_or(0, |gain| (gain.share / ERROR) as i64);
    let seconds = |finding: &Finding| finding.gain.map_or(0.0, |gain| gain.seconds);
    Reverse(step(a))
        .cmp(&Reverse(step(b)))
        .then_with(|| descending(at_stake(process, a), at_stake(process, b)))
        .then_with(|| descending(seconds(a), seconds(b)))
        .then_with(|| (a.rule, &a.place).cmp(&(b.rule, &b.place)))
}

/// Seconds that all threads spent at a finding's call sites, in whatever its problem is about:
/// waits, refused tries, or the calls themselves.
fn at_stake(process: &Process, finding: &Finding) -> f64 {
    let of_events = finding.rule.about().waiting == Lost::All;
    let sites = finding.sites.iter().map(|&site| &process.sites[site]);
    let counted = sites.filter(|site| site.kind != Kind::Event || of_events);
    let calls = |site: &Site| match (site.kind, site.op) {
        (Kind::Lock, _) => site.figures.calls as f64 * PAIR,
        (_, Op::ThreadCreate) => site.figures.calls as f64 * A_THREAD,
        _ => 0.0,
    };
    counted.map(|site| site.figures.lost() + calls(site)).sum()
}
