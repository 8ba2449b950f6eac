//! A sentence for each system call in which threads sleep for long, if no rule covers it.

use std::ptr;

use super::improper_primitive::library_lock;
use super::working::{IDLE, running, share};
use crate::model::{Finding, InCall, Kind, OnPath, Process, Remaining, Rule};
use crate::name;
use syncline_present::number::{counted, duration, percent};

/// Calls with a smaller share of the threads' time are not reported.
const LEAST: f64 = 0.05;
/// Sleeps of less than this, in seconds, rest on too few samples.
const FLOOR: f64 = 0.5;
/// Sleeps delay the run if the critical path goes through them for this share of its time, minus the
/// processor time of all threads as a share of the run.
const MUCH: f64 = 0.3;
/// One thread does the work of a run if it runs for this share of the critical path's time, and of
/// the processor time of all threads.
const MOST: f64 = 0.5;
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
    let delays = on_path - process.ran() / process.seconds.max(f64::MIN_POSITIVE) >= MUCH;
    let worker = worker(process, asleep).filter(|_| !delays && on_path >= MUCH);
    let idle = !delays && worker.is_none() && worked.is_some_and(|worked| worked < IDLE);
    let mut why = format!(
        "About {} of sleep, by {}, not counting recorded waits",
        duration(asleep.seconds),
        counted(asleep.threads.len(), "thread")
    );
    if process.sleeps_for_openmp(asleep) {
        why = format!("{why}; {OPEN_MP}");
    }
    if delays {
        why = format!(
            "{why}; the critical path goes through these sleeps for {} of its time, and hardly any \
             thread runs meanwhile: if they are for answers of another process or of a device, have \
             several requests under way at a time",
            percent(on_path)
        );
    } else if let Some(worker) = worker {
        why = format!(
            "{why}; the critical path goes through these sleeps for {} of its time, and most of the \
             work is that of {}, which runs for {}: if the sleeps are for its results, let several \
             threads do this work",
            percent(on_path),
            name::thread(process, worker),
            duration(process.threads[worker].ran())
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

/// The share of the critical path in which its threads are in the kernel, and mostly asleep in this
/// call.
fn on_path(process: &Process, asleep: &InCall) -> f64 {
    let path = &process.critical_path;
    let kernel = path.parts.iter().filter(|part| part.kind == OnPath::Kernel);
    let here = kernel.filter(|part| process.asleep_in(part).is_some_and(|it| ptr::eq(it, asleep)));
    here.map(|part| path.share(part)).sum()
}

/// The one thread that does most of the run's work, if it is none of those that sleep.
fn worker(process: &Process, asleep: &InCall) -> Option<usize> {
    let others = (0..process.threads.len()).filter(|thread| !asleep.threads.contains(thread));
    let ran = |thread: usize| process.threads[thread].ran();
    let most = others.max_by(|&a, &b| ran(a).total_cmp(&ran(b)))?;
    (ran(most) >= MOST * process.ran().max(process.critical_path.seconds)).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::process;
    use crate::model::PathPart;

    /// What is said of the sleeps of one of two threads in a run of ten seconds. That thread sleeps
    /// for 8 seconds in the kernel, of which the critical path has `on_path`, and does `asleep` of
    /// what runs; the first thread runs for `first` seconds.
    fn said(on_path: f64, asleep: f64, first: f64) -> Remaining {
        let mut drawn = process(10.0, 2);
        let worker = drawn.threads("work", 1, 10.0);
        drawn.threads[0].cpu = Some(first);
        drawn.threads[worker].cpu = Some(asleep);
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
        let mut said: Vec<Remaining> = find(&drawn, &[]).collect();
        assert_eq!(said.len(), 1);
        said.remove(0)
    }

    #[test]
    fn sleeps_on_the_critical_path_are_not_idle() {
        let delays = |on_path, ran: f64| {
            let said = said(on_path, ran / 2.0, ran / 2.0);
            assert_eq!(!said.idle, said.why.contains("hardly any thread runs"), "{}", said.why);
            !said.idle
        };
        assert!(delays(7.8, 0.4));
        assert!(!delays(3.0, 0.4), "little of the path");
        assert!(!delays(3.2, 0.4), "2.8 s, and the threads may have run for the rest");
    }

    /// Modelled on smol: the first thread polls for events while the executor's only thread runs all
    /// tasks.
    #[test]
    fn sleeps_until_one_thread_has_done_all_work_are_not_idle() {
        let one = |on_path, first| {
            let said = said(on_path, 0.1, first);
            assert_eq!(!said.idle, said.why.contains("that of the first thread"), "{}", said.why);
            !said.idle
        };
        assert!(one(9.9, 9.8));
        assert!(!one(2.9, 9.8), "little of the path");
        assert!(!one(5.0, 4.8), "no thread works for half of the time");
    }
}
