//! A finding about threads that sleep for tiny events.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::findings::family::{Family, SEVERAL_AT_A_TIME, few};
use crate::model::{Evidence, Finding, Process, Remedy, Rule};

/// Putting threads to sleep and waking them must take at least this share of the run time.
pub const FLOOR: f64 = 0.01;

/// The texts and the evidence of a finding.
pub struct Said {
    pub title: &'static str,
    pub evidence: Vec<Evidence>,
    pub advice: String,
}

/// A finding about the sites where threads wait, and the call sites that take the locks of
/// `families`, which belong to the waits.
pub fn finding(
    process: &Process,
    mut waits: Vec<usize>,
    families: &[&Family],
    said: Said,
) -> Finding {
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
