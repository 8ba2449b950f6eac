//! A sentence for each system call in which threads sleep for long, if no rule covers it.

use super::improper_primitive::library_lock;
use super::working::{IDLE, running, share};
use crate::model::{Finding, InCall, Kind, Process, Remaining, Rule};
use syncline_present::number::{counted, duration, percent};

/// Calls with a smaller share of the threads' time are not reported.
const LEAST: f64 = 0.05;
/// Sleeps of less than this, in seconds, rest on too few samples.
const FLOOR: f64 = 0.5;
const OPEN_MP: &str = "OpenMP's threads sleep there until a parallel region begins or ends, or for \
                       tasks: where regions are short, use fewer threads (OMP_NUM_THREADS) or give \
                       each more work";
/// Libraries whose threads sleep: how their files' names begin, and why the threads sleep.
const LIBRARIES: [(&str, &str); 3] =
    [("libgomp", OPEN_MP), ("libomp", OPEN_MP), ("libiomp", OPEN_MP)];

/// The sentences about system calls in which threads sleep. A lock inside the C library gets none
/// if there is a finding about such locks.
pub fn find(process: &Process, findings: &[Finding]) -> impl Iterator<Item = Remaining> {
    let is_found = findings.iter().any(|finding| finding.rule == Rule::LibraryLock);
    let said = move |asleep: &InCall| is_found && library_lock::function(process, asleep).is_some();
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
    if let Some(what) = library(process, asleep) {
        why = format!("{why}; {what}");
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

/// Why the threads of a known library sleep in this call; `None` if the stack has no such library.
fn library(process: &Process, asleep: &InCall) -> Option<&'static str> {
    let frames = &process.stacks[asleep.stack].frames;
    let mut modules = frames.iter().filter_map(|&frame| process.frames[frame].module);
    modules.find_map(|module| {
        let name = process.modules[module].name();
        LIBRARIES.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, what)| what)
    })
}
