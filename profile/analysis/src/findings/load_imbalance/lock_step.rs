//! A pool whose threads never work at the same time, since the thread that hands the work out waits
//! for each piece before it hands out the next.
//!
//! The pool's threads work alone: all other threads wait for events meanwhile. So the critical path
//! has all of the pool's work. A lock would have the same effect, but then several threads wait at
//! one call site. Here one thread waits that does not belong to the pool, for about as long as the
//! pool works.

use std::collections::BTreeMap;

use crate::findings::evidence::{count, seconds, share};
use crate::findings::waking::is_wait;
use crate::model::{Finding, Process, Remedy, Rule, Stage};
use crate::name;

/// The pool's work must be at least this share of the critical path.
const MUCH: f64 = 0.4;
/// The pool's threads must work alone for at least this share of the time in which they run or are
/// ready to.
const ALONE: f64 = 0.8;
/// At least two of the pool's threads must each do this share of the work.
const TAKES_PART: f64 = 0.2;
/// The thread that hands the work out must wait at one call site for at least this share of the
/// pool's work.
const MEANWHILE: f64 = 0.7;
/// It must wait at least this many times.
const OFTEN: u64 = 20;
/// Shorter pieces, in seconds, on average, are hand-overs, which other rules are about.
const SHORTEST: f64 = 200e-6;

/// The finding about the pool whose threads work one at a time; `None` if there is none.
pub fn in_lock_step(process: &Process) -> Option<Finding> {
    name::by_origin(process).into_values().find_map(|pool| finding(process, &pool))
}

fn finding(process: &Process, pool: &[usize]) -> Option<Finding> {
    let path = &process.critical_path;
    let stages = || pool.iter().filter_map(|thread| path.stages.get(thread));
    let alone: f64 = stages().map(|stage| stage.seconds).sum();
    let pieces: u64 = stages().map(|stage| stage.pieces).sum();
    let active = |&thread: &usize| {
        let times = &process.threads[thread].times;
        times.running + times.ready
    };
    let taking_part =
        stages().filter(|stage| stage.seconds >= TAKES_PART * alone.max(f64::MIN_POSITIVE));
    if taking_part.count() < 2
        || alone < MUCH * path.seconds
        || alone < ALONE * pool.iter().map(active).sum::<f64>()
        || alone < SHORTEST * pieces as f64
    {
        return None;
    }
    let (site, waited) = waits_for_each(process, pool, stages())?;
    if waited < MEANWHILE * alone {
        return None;
    }
    Some(Finding {
        rule: Rule::SerialStage,
        title: "A thread waits for each piece of work before it hands out the next".to_owned(),
        place: process.sites[site].place.clone(),
        sites: vec![site],
        locks: Vec::new(),
        evidence: vec![
            share("share of the critical path in which one worker works", alone / path.seconds),
            count("pieces of work", pieces),
            seconds("mean length", alone / pieces.max(1) as f64),
            count("workers", pool.len() as u64),
        ],
        advice:
            "So there is one piece of work at a time, however many workers there are. Hand out \
                 as many pieces as there are workers, or more, before you wait for the first, and \
                 take the results in order. If each piece needs the results of the one before, \
                 divide the piece."
                .to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    })
}

/// The call site at which one thread that is not in the pool waits for longest while a worker works,
/// and for how many seconds.
fn waits_for_each<'a>(
    process: &Process,
    pool: &[usize],
    stages: impl Iterator<Item = &'a Stage>,
) -> Option<(usize, f64)> {
    let mut meanwhile: BTreeMap<usize, f64> = BTreeMap::new();
    for (&site, &waited) in stages.flat_map(|stage| &stage.meanwhile) {
        *meanwhile.entry(site).or_default() += waited;
    }
    let by_one = |&(number, _): &(usize, f64)| {
        let site = &process.sites[number];
        let outside = matches!(site.by_thread[..], [(thread, _)] if !pool.contains(&thread));
        is_wait(site.op) && outside && site.figures.waits >= OFTEN
    };
    meanwhile.into_iter().filter(by_one).max_by(|(_, a), (_, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    fn drawn(alone: [f64; 2], together: f64, waited: f64) -> Drawn {
        drawn_with(Op::CondWait, alone, together, waited)
    }

    /// A run of ten seconds in which two workers work alone for `alone` seconds in all, and for
    /// `together` more at the same time. Meanwhile the first thread waits for `waited` seconds.
    fn drawn_with(op: Op, alone: [f64; 2], together: f64, waited: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("work", 2, 10.0);
        let done = drawn.lock(op.primitive(), "done");
        let wait = drawn.site(op, "write at main.c:30");
        drawn.uses(done, wait, Use { calls: 2_000, waits: 2_000, waited, ..Use::default() });
        drawn.by_thread(wait, [(0, 2_000)]);
        drawn.critical_path.seconds = 10.0;
        for (number, seconds) in (first..).zip(alone) {
            let share = seconds / alone.iter().sum::<f64>();
            let meanwhile = [(wait, waited * share)].into();
            let stage = Stage { seconds, longest: 0.01, pieces: 1_000, meanwhile };
            drawn.critical_path.stages.insert(number, stage);
            drawn.threads[number].times.running = seconds + together;
            drawn.threads[number].times.ready = 0.0;
        }
        drawn
    }

    fn places(drawn: &Drawn) -> Vec<String> {
        in_lock_step(drawn).into_iter().map(|finding| finding.place).collect()
    }

    /// Modelled on mkfs.erofs, which waits for the compression of each file.
    #[test]
    fn workers_that_get_one_piece_at_a_time_are_found() {
        assert_eq!(places(&drawn([4.0, 4.0], 0.0, 8.0)), ["write at main.c:30"]);
        assert_eq!(places(&drawn([1.7, 6.3], 0.0, 5.7)).len(), 1);
        assert_eq!(places(&drawn_with(Op::SemWait, [4.0, 4.0], 0.0, 8.0)).len(), 1);
        assert_eq!(places(&drawn_with(Op::MutexLock, [4.0, 4.0], 0.0, 8.0)).len(), 0);
    }

    #[test]
    fn workers_that_work_at_the_same_time_are_not() {
        assert!(places(&drawn([4.0, 4.0], 1.1, 8.0)).is_empty());
        assert!(places(&drawn([2.0, 1.9], 0.0, 3.9)).is_empty(), "little of the path");
    }

    #[test]
    fn one_worker_or_another_wait_is_something_else() {
        assert!(places(&drawn([1.5, 6.5], 0.0, 8.0)).is_empty(), "one worker does nearly all");
        assert!(places(&drawn([4.0, 4.0], 0.0, 5.5)).is_empty(), "nobody waits for the pieces");
        let mut lock = drawn([4.0, 4.0], 0.0, 8.0);
        lock.by_thread(0, [(0, 1_000), (1, 1_000)]);
        assert!(places(&lock).is_empty(), "several threads wait at the site, as at a lock");
    }
}
