//! What is wrong: one file for each kind of problem, each a pure function over a process's
//! figures. A rule's file says in its first paragraph what it takes for a problem; its
//! thresholds are constants with their reasons.

use crate::gain;
use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// A kind of problem: what is found in a process.
type Rules = fn(&Process, &Thresholds) -> Vec<Finding>;

/// Every kind of problem.
const ALL: &[Rules] = &[];

/// All that is found in a process, with predicted gains, most to gain first.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        ALL.iter().flat_map(|rules| rules(process, thresholds)).collect();
    for finding in &mut findings {
        finding.gain = gain::predict(process, &finding.remedy);
    }
    let gain = |f: &Finding| f.gain.map_or(0.0, |gain| gain.seconds);
    findings.sort_by(|a, b| {
        gain(b).total_cmp(&gain(a)).then_with(|| (a.rule, &a.place).cmp(&(b.rule, &b.place)))
    });
    findings
}
