//! A sentence for each system call in which threads sleep for long, if no rule covers it.

use super::improper_primitive::library_lock;
use super::working::{IDLE, running, share};
use crate::model::{Finding, InCall, Kind, OnPath, Process, Remaining, Rule};
use syncline_present::number::{counted, duration, percent};

/// Calls with a smaller share of the threads' time are not reported.
const LEAST: f64 = 0.05;
/// Sleeps of less than this, in seconds, rest on too few samples.
const FLOOR: f64 = 0.5;
/// Sleeps delay the run if the critical path goes through them for this share of its time, minus the
/// processor time of all threads as a share of the run.
const MUCH: f64 = 0.3;
/// A thread's time in the kernel is due to its sleeps in one call if they are this share of it.
const MOSTLY: f64 = 0.5;
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
    let on_path = on_path(process, asleep);
    let idle = on_path.is_none() && worked.is_some_and(|worked| worked < IDLE);
    let mut why = format!(
        "About {} of sleep, by {}, not counting recorded waits",
        duration(asleep.seconds),
        counted(asleep.threads.len(), "thread")
    );
    if process.sleeps_for_openmp(asleep) {
        why = format!("{why}; {OPEN_MP}");
    }
    if let Some(on_path) = on_path {
        why = format!(
            "{why}; the critical path goes through these sleeps for {} of its time, and hardly any \
             thread runs meanwhile: if they are for answers of another process or of a device, have \
             several requests under way at a time",
            percent(on_path)
        );
    } else if let Some(worked) = worked {
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

/// The share of the critical path that goes through sleeps in a call while hardly any thread runs;
/// `None` if that is little, or if it is not known in which call the path's threads sleep.
fn on_path(process: &Process, asleep: &InCall) -> Option<f64> {
    let kernel = |&thread: &usize| process.threads[thread].times.kernel;
    let mostly_here = asleep.seconds >= MOSTLY * asleep.threads.iter().map(kernel).sum::<f64>();
    let path = &process.critical_path;
    let here = path.parts.iter().filter(|part| {
        part.kind == OnPath::Kernel && part.threads.iter().all(|on| asleep.threads.contains(on))
    });
    let share: f64 = here.map(|part| path.share(part)).sum();
    let meanwhile = process.ran() / process.seconds.max(f64::MIN_POSITIVE);
    (mostly_here && share - meanwhile >= MUCH).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::process;
    use crate::model::PathPart;

    /// Whether it is said that the sleeps of one of two threads delay a run of ten seconds. That
    /// thread sleeps for 8 seconds in the kernel, of which the critical path has `on_path`. All
    /// threads together run for `ran` seconds.
    fn delays(on_path: f64, ran: f64) -> bool {
        let mut drawn = process(10.0, 2);
        let worker = drawn.threads("work", 1, 10.0);
        for thread in &mut drawn.threads {
            thread.cpu = Some(ran / 2.0);
        }
        drawn.threads[worker].times.kernel = 8.0;
        drawn.critical_path.seconds = 10.0;
        drawn.critical_path.parts = vec![PathPart {
            kind: OnPath::Kernel,
            site: None,
            threads: vec![worker],
            seconds: on_path,
            pieces: 100,
        }];
        drawn.asleep = vec![InCall {
            call: "recv".to_owned(),
            place: "ask at client.c:10".to_owned(),
            seconds: 7.0,
            threads: vec![worker],
            stack: 0,
        }];
        let said: Vec<Remaining> = find(&drawn, &[]).collect();
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].idle, !said[0].why.contains("critical path"));
        !said[0].idle
    }

    #[test]
    fn sleeps_on_the_critical_path_are_not_idle() {
        assert!(delays(7.8, 0.4));
        assert!(!delays(3.0, 0.4), "little of the path");
        assert!(!delays(3.2, 0.4), "2.8 s, and the threads may have run for the rest");
    }
}
