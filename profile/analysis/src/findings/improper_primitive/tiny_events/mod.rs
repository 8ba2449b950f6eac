//! Events that come so fast that putting threads to sleep and waking them takes longer than what they
//! do in between (SyncPerf, facesim): threads that meet at a barrier, and pieces of work that threads
//! hand to one another.

mod hand_overs;
mod meetings;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::findings::family::{Family, SEVERAL_AT_A_TIME, few};
use crate::model::{Evidence, Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// The least share of the run time that putting threads to sleep and waking them takes.
const FLOOR: f64 = 0.01;

/// Threads that sleep for tiny events. A barrier that was reported is not reported again as its
/// condition.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    let mut findings = meetings::find(process, &families, thresholds);
    let said: BTreeSet<usize> =
        findings.iter().flat_map(|finding| &finding.sites).copied().collect();
    findings.extend(hand_overs::find(process, &families, thresholds, &said));
    findings
}

/// The texts of a finding.
struct Said {
    title: &'static str,
    evidence: Vec<Evidence>,
    advice: String,
}

/// A finding about the sites where threads wait. The call sites of the locks that belong to them are
/// part of it.
fn finding(process: &Process, mut waits: Vec<usize>, families: &[&Family], said: Said) -> Finding {
    waits.sort_by_key(|&site| Reverse(process.sites[site].figures.waits));
    let objects: BTreeSet<usize> = waits.iter().flat_map(|&site| process.used_at(site)).collect();
    let takes = families.iter().flat_map(|family| &family.sites);
    Finding {
        rule: Rule::TinyEvents,
        title: said.title.to_owned(),
        place: process.sites[waits[0]].place.clone(),
        sites: waits.iter().chain(takes).copied().collect(),
        locks: few(&objects.into_iter().collect::<Vec<_>>()),
        evidence: said.evidence,
        advice: said.advice,
        open_question: None,
        remedy: Remedy::FewerHandOvers { sites: waits, left: SEVERAL_AT_A_TIME },
        gain: None,
    }
}
