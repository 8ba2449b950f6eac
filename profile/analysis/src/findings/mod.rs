//! The rules, which find what is wrong. Each kind of problem has a file with a pure function over a
//! process's figures. A rule's file says in its first paragraph what counts as a problem; its
//! thresholds are constants with their reasons.

mod asleep;
mod asymmetric_contention;
mod blocked_holder;
mod busy_futex;
mod evidence;
mod false_sharing;
mod family;
mod improper_granularity;
mod improper_primitive;
mod load_imbalance;
mod lock_order;
mod meeting;
pub mod order;
mod over_synchronization;
mod precedence;
pub mod remaining;
pub mod stuck;
#[cfg(test)]
pub(crate) mod testing;
mod touches;
pub mod waking;
mod wasted_wake_ups;
mod working;

use crate::gain::Predictor;
use crate::model::{Finding, Process};
use crate::options::Thresholds;

/// The rules of one kind of problem, as a function that finds their findings in a process.
type Rules = fn(&Process, &Thresholds) -> Vec<Finding>;

/// Every kind of problem.
const ALL: &[Rules] = &[
    improper_primitive::find,
    improper_granularity::find,
    over_synchronization::find,
    asymmetric_contention::find,
    load_imbalance::find,
    blocked_holder::find,
    wasted_wake_ups::find,
    false_sharing::find,
    lock_order::find,
    busy_futex::find,
];

/// All findings of a process, with predicted gains, those with most to gain first.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        ALL.iter().flat_map(|rules| rules(process, thresholds)).collect();
    improper_granularity::thread_each::leave_waits_out(process, &mut findings);
    let mut findings = precedence::one_for_each_problem(findings);
    if findings.is_empty() {
        // Replaying the run is most of the work, and of no use without findings.
        return findings;
    }
    let predictor = Predictor::new(process);
    for finding in &mut findings {
        finding.gain = predictor.gain(&finding.remedy);
    }
    findings.sort_by(|a, b| order::compare(process, a, b));
    findings
}
