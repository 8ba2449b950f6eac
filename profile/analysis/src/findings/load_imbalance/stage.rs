//! A serial stage: one thread works while all others wait for events, again and again, for example
//! to read or to write each piece of the work. By Amdahl's law (AFIPS 1967), the stage bounds the
//! run. If it overlapped with the others' work, the run would take as long as the longer of two
//! times: the thread's own work, and all work divided by the number of processors.
//!
//! A start or an end in one thread is no such stage, since there is nothing to do at the same time.
//! Neither is a thread that is busy all the time while others wait for what it makes: nothing is
//! saved if the others go on meanwhile.

use std::collections::BTreeSet;

use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::descending;
use crate::model::{Finding, OnPath, Process, Remedy, Rule, Stage, TakingPart, Thread};
use crate::name;

/// The stage must take at least this share of the run.
const MUCH: f64 = 0.2;
/// The longest piece may take at most this share of the stage: the stage comes again and again.
const LONGEST: f64 = 0.5;
/// Pieces shorter than this, in seconds, on average, are hand-overs: hardly more than what it takes
/// to wake a thread.
const SHORTEST: f64 = 200e-6;
/// An overlap must save at least this share of the run.
const SAVED: f64 = 0.1;
/// At most this many of the sites where the others wait are named.
const MOST_SITES: usize = 3;

/// The finding about the thread that works alone for the longest time; `None` if no thread's work
/// is such a stage.
pub fn serial(process: &Process) -> Option<Finding> {
    let path = &process.critical_path;
    let alike = alike(process);
    let stages = path.stages.iter().filter(|&(thread, _)| {
        !alike.contains(thread) && mostly_computes(&process.threads[*thread])
    });
    let longest = stages.max_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds));
    let (&thread, stage) = longest?;
    // The path without its ready time, as in a run without other programs.
    let ready = path.parts.iter().filter(|part| part.kind == OnPath::Ready);
    let seconds = path.seconds - ready.map(|part| part.seconds).sum::<f64>();
    let saved = 1.0 - at_best(process, thread) / seconds.max(f64::MIN_POSITIVE);
    let applies = stage.seconds >= MUCH * seconds
        && stage.longest <= LONGEST * stage.seconds
        && stage.seconds >= SHORTEST * stage.pieces as f64
        && saved >= SAVED;
    applies.then(|| finding(process, thread, stage, saved))
}

/// The threads that share their origin with another. They do the same, and now and then each of them
/// happens to work alone.
fn alike(process: &Process) -> BTreeSet<usize> {
    let origins = name::by_origin(process).into_values();
    origins.filter(|threads| threads.len() > 1).flatten().collect()
}

/// Whether a thread has a processor for at least half of the time in which it neither waits nor is
/// ready to run. Otherwise it mostly waits in the kernel for what comes from outside, perhaps for an
/// answer to what the others have sent.
fn mostly_computes(thread: &Thread) -> bool {
    thread.times.running >= thread.times.kernel
}

/// Seconds of the run if the stage overlapped with all other work. What a thread does of the work
/// that others do as well can be left to them.
fn at_best(process: &Process, thread: usize) -> f64 {
    let worker = &process.threads[thread];
    let shared = part(process, thread).map_or(0.0, |part| part.seconds);
    let own = worker.active() - worker.times.ready - shared;
    own.max(process.least_seconds())
}

/// How a thread takes part in what others run; `None` if it does not.
fn part(process: &Process, thread: usize) -> Option<&TakingPart> {
    let parts = process.threads.iter().filter_map(|other| other.first.as_ref());
    let most = parts.max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    most.filter(|_| thread == 0)
}

fn finding(process: &Process, thread: usize, stage: &Stage, saved: f64) -> Finding {
    let worker = &process.threads[thread];
    let who = match name::origin(process, worker) {
        None => "the first thread".to_owned(),
        Some(origin) => format!("a thread {origin}"),
    };
    let mostly = match part(process, thread) {
        Some(part) => &part.otherwise,
        None => &worker.mostly,
    };
    let mostly = mostly.as_ref().map(|function| format!(", mostly in {function}"));
    let mut waits: Vec<(usize, f64)> = stage.meanwhile.iter().map(|(&s, &w)| (s, w)).collect();
    waits.sort_by(|a, b| descending(a.1, b.1));
    Finding {
        rule: Rule::SerialStage,
        title: "One thread works alone again and again, while all others wait".to_owned(),
        place: format!("{who}{}", mostly.unwrap_or_default()),
        sites: waits.into_iter().take(MOST_SITES).map(|(site, _)| site).collect(),
        locks: Vec::new(),
        evidence: vec![
            share("share of the run", stage.seconds / process.critical_path.seconds),
            count("times", stage.pieces),
            seconds("mean length", stage.seconds / stage.pieces.max(1) as f64),
            share("saved at best, if the others worked meanwhile", saved),
        ],
        advice: "Let the others go on meanwhile: read the next piece and write the last one in a \
                 thread of its own, with room for some pieces in between. Or divide this work too. \
                 If each piece needs the results of the one before, only a shorter stage helps."
            .to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, process};
    use crate::model::PathPart;

    /// A run of ten seconds on two processors. The first thread works alone for `alone` seconds,
    /// for at most `longest` at a time, and for `shared` more seconds in the function that two
    /// workers run. While it does not work alone, the workers work.
    fn drawn(alone: f64, longest: f64, shared: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("correct", 2, 10.0);
        let barrier = drawn.lock(Primitive::Barrier, "begin");
        let begin = drawn.site(Op::BarrierWait, "correct at main.c:30");
        let other = drawn.site(Op::BarrierWait, "correct at main.c:40");
        drawn.locks[barrier].threads.extend([(first, 9), (first + 1, 9)]);
        drawn.waited(0, Primitive::Barrier, 10.0 - alone - shared);
        drawn.threads[0].cpu = Some(alone + shared);
        drawn.threads[0].times.running = alone + shared;
        drawn.threads[0].mostly = Some("write".to_owned());
        for thread in first..first + 2 {
            drawn.waited(thread, Primitive::Barrier, alone);
            drawn.threads[thread].cpu = Some(10.0 - alone);
            drawn.threads[thread].times.running = 10.0 - alone;
            drawn.threads[thread].first = (shared > 0.0).then(|| TakingPart {
                function: "correct".to_owned(),
                seconds: shared,
                otherwise: Some("parse".to_owned()),
            });
        }
        drawn.critical_path.seconds = 10.0;
        let meanwhile = [(begin, 2.0 * alone), (other, 0.1)].into();
        let stage = Stage { seconds: alone, longest, pieces: 100, meanwhile };
        drawn.critical_path.stages = [(0, stage)].into();
        drawn
    }

    fn place(drawn: &Drawn) -> Option<String> {
        serial(drawn).map(|finding| finding.place)
    }

    #[test]
    fn work_alone_that_comes_again_and_again_is_found() {
        let found = serial(&drawn(4.0, 0.1, 0.0)).unwrap();
        assert_eq!(found.place, "the first thread, mostly in write");
        assert_eq!(found.sites, [0, 1], "where the others waited, the longest waits first");
        // Sixteen seconds of work on two processors take eight.
        assert!((found.evidence.last().unwrap().value - 0.2).abs() < 1e-9);
    }

    /// Modelled on Paho's thread that receives what a broker sends.
    #[test]
    fn a_thread_that_waits_for_input_does_not_work_alone() {
        let with = |kernel| {
            let mut drawn = drawn(4.0, 0.1, 0.0);
            drawn.threads[0].times.kernel = kernel;
            place(&drawn).is_some()
        };
        assert!(with(4.0));
        assert!(!with(4.1));
    }

    #[test]
    fn a_start_or_an_end_alone_is_not() {
        assert!(place(&drawn(4.0, 2.0, 0.0)).is_some());
        assert_eq!(place(&drawn(4.0, 2.1, 0.0)), None);
    }

    #[test]
    fn a_thread_that_is_always_busy_gains_nothing_unless_it_does_others_work() {
        assert_eq!(place(&drawn(9.5, 0.1, 0.0)), None, "the others have hardly anything to do");
        let mut busy = drawn(4.0, 0.1, 5.5);
        busy.processors = Some(4);
        assert_eq!(place(&busy).unwrap(), "the first thread, mostly in parse");
        busy.threads[1].first = None;
        busy.threads[2].first = None;
        assert_eq!(place(&busy), None);
    }

    #[test]
    fn waits_for_processors_are_of_other_programs() {
        let ready = |seconds| PathPart {
            kind: OnPath::Ready,
            site: None,
            threads: vec![0],
            seconds,
            pieces: 1,
        };
        let mut other = drawn(4.0, 0.1, 0.0);
        other.critical_path.parts = vec![ready(1.0)];
        assert!(place(&other).is_some(), "8 of 9 seconds are left");
        other.critical_path.parts = vec![ready(1.2)];
        assert_eq!(place(&other), None);
    }

    #[test]
    fn one_of_several_workers_happens_to_be_alone() {
        let mut worker = drawn(4.0, 0.1, 0.0);
        let stage = worker.critical_path.stages.remove(&0).unwrap();
        worker.critical_path.stages.insert(1, stage);
        assert_eq!(place(&worker), None);
        worker.threads[1].start_function = Some("write".to_owned());
        worker.threads[1].waiting = worker.threads[0].waiting;
        assert_eq!(place(&worker).unwrap(), "a thread of write");
    }

    #[test]
    fn little_work_alone_is_not_found() {
        assert!(place(&drawn(2.1, 0.1, 0.0)).is_some());
        assert_eq!(place(&drawn(1.9, 0.1, 0.0)), None);
        let mut tiny = drawn(4.0, 0.1, 0.0);
        tiny.critical_path.stages.get_mut(&0).unwrap().pieces = 20_000;
        assert!(place(&tiny).is_some());
        tiny.critical_path.stages.get_mut(&0).unwrap().pieces = 20_001;
        assert_eq!(place(&tiny), None);
    }
}
