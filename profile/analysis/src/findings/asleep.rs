//! A sentence for each system call in which threads sleep for long, if no rule covers it.

use super::improper_primitive::library_lock;
use super::working::{IDLE, running, share};
use crate::model::{Finding, InCall, Kind, Process, Remaining, Rule};
use syncline_present::number::{counted, duration, percent};

/// Calls with a smaller share of the threads' time are not reported.
const LEAST: f64 = 0.05;
/// Sleeps of less than this, in seconds, rest on too few samples.
const FLOOR: f64 = 0.5;
/// Why OpenMP's threads sleep.
const OPEN_MP: &str = "OpenMP's threads sleep there until a parallel region begins or ends, or for \
                       tasks: where regions are short, use fewer threads (OMP_NUM_THREADS) or give \
                       each more work";

/// The sentences about system calls in which threads sleep. Those for a lock inside the C
/// library, or for OpenMP, get none if there is a finding about them.
pub fn find(process: &Process, findings: &[Finding]) -> impl Iterator<Item = Remaining> {
    let is_found = findings.iter().any(|finding| finding.rule == Rule::LibraryLock);
    let regions = findings.iter().any(|f| f.rule == Rule::TinyEvents && f.sites.is_empty());
    let said = move |asleep: &InCall| {
        is_found && library_lock::function(process, asleep).is_some()
            || regions && process.sleeps_for_openmp(asleep)
    };
    let others = process.asleep.iter().filter(move |asleep| !said(asleep));
    others.filter_map(|asleep| remaining(process, asleep))
}

fn remaining(process: &Process, asleep: &InCall) -> Option<Remaining> {
    let share = share(process, asleep.seconds, LEAST)?;
    if asleep.seconds < FLOOR {
        return None;
    }
    let worked = running(process, &asleep.threads);
    let idle = worked.is_some_and(|worked| worked < IDLE);
    let mut why = format!(
        "About {} of sleep, by {}, not counting recorded waits",
        duration(asleep.seconds),
        counted(asleep.threads.len(), "thread")
    );
    if process.sleeps_for_openmp(asleep) {
        why = format!("{why}; {OPEN_MP}");
    }
    if let Some(worked) = worked {
        why = format!(
            "{why}; these threads run for {} of their time: {}",
            percent(worked),
            if idle { "they have nothing to do" } else { "their waits may delay the run" }
        );
    }
    Some(Remaining {
        what: format!("asleep in {}", asleep.call),
        kind: Kind::Event,
        place: asleep.place.clone(),
        sites: Vec::new(),
        seconds: asleep.seconds,
        share,
        idle,
        why: why + ".",
        open_question: None,
    })
}
