//! Common parts of the rules about holders: when a holder counts as not running, how long others
//! waited for it, and the first fields of a finding.

use crate::findings::family::few;
use crate::held::mean_held;
use crate::model::{Figures, Finding, Lock, Process, Remedy, Rule};

/// If the holder had no processor for at least this share of the time held, the section is long
/// because of that.
pub const OFF_CPU: f64 = 0.3;
/// Fewer sleeps or preemptions may be random, such as a page that is read from disk for the first
/// time.
pub const FEWEST_SWITCHES: u64 = 3;
/// About the shortest preemption, in seconds: the time slice of a busy Linux is 0.75 to 3 ms.
pub const TIME_SLICE: f64 = 500e-6;

/// The seconds that other threads waited for a lock that had been taken at a site, and the number
/// of waits.
pub fn behind(process: &Process, holder: usize) -> (f64, u64) {
    let blockers = process.locks.iter().flat_map(|lock| &lock.blockers);
    let here = blockers.filter(|blocker| blocker.holder == Some(holder));
    here.fold((0.0, 0), |(waited, waits), b| (waited + b.waited, waits + b.waits))
}

/// How many holds of a site other threads waited for, given the seconds and the number of their
/// waits: at least one hold in each wait. A long wait lasts for several holds, since a thread that
/// releases a lock often has it again before a waiter runs.
pub fn holds_waited_for(figures: &Figures, (waited, waits): (f64, u64)) -> u64 {
    match mean_held(figures.held, figures.calls) {
        0.0 => waits,
        held => waits.max((waited / held).min(figures.calls as f64) as u64),
    }
}

/// A finding about holders that took a lock at a site, without title, evidence, advice and remedy.
pub fn draft(process: &Process, site: usize, rule: Rule) -> Finding {
    let used_here = |lock: &Lock| lock.sites.iter().any(|used| used.site == site);
    let locks = (0..process.locks.len()).filter(|&lock| used_here(&process.locks[lock]));
    Finding {
        rule,
        title: String::new(),
        place: process.sites[site].place.clone(),
        sites: vec![site],
        locks: few(&locks.collect::<Vec<_>>()),
        evidence: Vec::new(),
        advice: String::new(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}
