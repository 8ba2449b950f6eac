//! Condition variables for events that come so fast that putting threads to sleep and waking
//! them takes longer than what they do in between (SyncPerf, facesim). An atomic flag or
//! counter that threads watch for a moment gives them the same news at once.
//!
//! At a barrier, the C library's or one that a program made of a condition, all threads but the last sleep in
//! each round, however long they wait for it. There the rule looks at the share of the processor time
//! that goes into sleeping and waking.
//!
//! Elsewhere the rule looks at how long threads wait and how much they do between two waits. Threads
//! that wait long have nothing to do, and are right to sleep; for threads that do much between two
//! waits the wake-up is a small part.

use std::collections::BTreeMap;

use syncline_recording::{Class, Primitive};

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::{Family, SEVERAL_AT_A_TIME, WAKE_UP};
use crate::findings::meeting::Meeting;
use crate::model::{Finding, Lock, Process, Remedy, Rule, Site, Thread};
use crate::options::Thresholds;

/// The least share of the run time that such wake-ups take.
const FLOOR: f64 = 0.01;
/// Waits whose mean is below this are short: threads that have to wait for a processor are woken
/// later than this.
const SHORT_WAIT: f64 = 200e-6;
/// The most that a thread does between two waits on the average, in seconds: a few times
/// what being woken takes.
const LITTLE_WORK: f64 = 20e-6;
/// The least share of their processor time for which threads are put to sleep and woken at a barrier.
const MUCH: f64 = 0.1;

/// Condition variables of tiny events.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    let of_conditions = families.iter().filter_map(|family| Often::at_condition(process, family));
    let meetings: Vec<Finding> = of_conditions
        .chain(Often::at_barriers(process))
        .filter_map(|meeting| meeting.finding(process, thresholds))
        .collect();
    let said = |site: &usize| meetings.iter().any(|finding| finding.sites.contains(site));
    // Conditions whose functions take the same locks serve one purpose.
    let mut together: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (number, site) in process.sites.iter().enumerate() {
        if is_wait(site) && !said(&number) {
            let family = families.iter().position(|family| takes_in(process, family, site));
            together.entry(family).or_default().push(number);
        }
    }
    let finding = |(family, sites): (Option<usize>, Vec<usize>)| {
        let tiny: Vec<usize> =
            sites.into_iter().filter(|&site| is_tiny(process, &process.sites[site])).collect();
        let rate: f64 = tiny.iter().map(|&s| process.sites[s].figures.calls_per_second).sum();
        let enough = rate > thresholds.acquisitions_per_second && rate * WAKE_UP >= FLOOR;
        enough.then(|| finding(process, family.map(|family| &families[family]), tiny))
    };
    let mut findings: Vec<Finding> = together.into_iter().filter_map(finding).collect();
    findings.extend(meetings);
    findings
}

fn is_wait(site: &Site) -> bool {
    site.op.primitive() == Primitive::Condvar && site.op.class() == Class::Wait
}

/// Threads that meet at a barrier, maybe too often.
struct Often<'a> {
    /// The locks of a barrier that is made of a condition.
    family: Option<&'a Family<'a>>,
    /// Where threads wait for the others.
    sites: Vec<usize>,
    rounds: u64,
    /// How often a thread slept there: at a barrier of the C library, the last to come does not.
    sleeps: u64,
    /// How many meet.
    threads: usize,
}

impl<'a> Often<'a> {
    fn at_condition(process: &'a Process, family: &'a Family<'a>) -> Option<Often<'a>> {
        let meeting = Meeting::at(process, family)?;
        let waits = process.locks[meeting.condition].uses(Class::Wait).map(|used| used.site);
        let sites: Vec<usize> = waits.collect();
        Some(Often {
            family: Some(family),
            sleeps: sites.iter().map(|&site| process.sites[site].figures.waits).sum(),
            sites,
            rounds: meeting.rounds,
            threads: meeting.threads,
        })
    }

    /// All barriers of the C library and of OpenMP: threads that work in phases often have two.
    fn at_barriers(process: &Process) -> Option<Often<'_>> {
        let all = process.sites.iter().enumerate();
        let waits = all
            .filter(|(_, site)| site.op.primitive().is_barrier() && site.op.class() == Class::Wait);
        let barriers = process.locks.iter().filter(|lock| lock.primitive.is_barrier());
        let threads = |lock: &Lock| lock.threads.len().max(1);
        let calls: u64 = barriers.clone().map(|lock| lock.figures.calls).sum();
        let rounds: u64 =
            barriers.clone().map(|lock| lock.figures.calls / threads(lock) as u64).sum();
        Some(Often {
            family: None,
            sites: waits.map(|(number, _)| number).collect(),
            rounds,
            sleeps: calls - rounds,
            threads: barriers.map(threads).max()?,
        })
    }

    /// The finding, if sleeping takes much of what the threads work.
    fn finding(self, process: &Process, thresholds: &Thresholds) -> Option<Finding> {
        let threads = process.threads_at(self.sites.iter().copied());
        let worked: f64 = threads.into_iter().map(|thread| process.threads[thread].ran()).sum();
        let sleeps = self.sleeps as f64;
        let per_second = sleeps / process.seconds;
        let applies = per_second > thresholds.acquisitions_per_second
            && per_second * WAKE_UP >= FLOOR
            && sleeps * WAKE_UP >= MUCH * worked;
        if !applies {
            return None;
        }
        let outnumbered = process.processors.is_some_and(|processors| processors < self.threads);
        let mut found = finding(process, self.family, self.sites);
        found.title = "Threads meet at a barrier more often than their work is worth".to_owned();
        found.evidence = vec![
            rate("rounds", self.rounds as f64 / process.seconds),
            count("threads that meet", self.threads as u64),
            seconds("work of a thread between two sleeps", worked / sleeps),
            share("time to put threads to sleep and wake them, about", per_second * WAKE_UP),
        ];
        found.advice = format!(
            "Hand out more work from one meeting to the next, or have fewer threads for so little{}.",
            if outnumbered { ": there are more than processors, and all have to come" } else { "" }
        );
        Some(found)
    }
}

/// Whether a lock of this family is taken in the function of a site.
fn takes_in(process: &Process, family: &Family, site: &Site) -> bool {
    let function = |site: &Site| process.function_of(site);
    function(site).is_some()
        && family.sites.iter().any(|&taken| function(&process.sites[taken]) == function(site))
}

fn is_tiny(process: &Process, site: &Site) -> bool {
    let figures = &site.figures;
    if figures.waits == 0 {
        return false;
    }
    let waits = figures.waits as f64;
    let wait = figures.waited / waits;
    wait <= SHORT_WAIT && work(process, site) <= LITTLE_WORK
}

/// Seconds that a thread works from one wait to its next, on the average. What it waits for locks or for a
/// processor in between is no work.
fn work(process: &Process, site: &Site) -> f64 {
    let threads = || site.by_thread.iter().map(|&(thread, _)| &process.threads[thread]);
    let alive: f64 = threads().map(|thread| thread.seconds).sum();
    let worked: f64 = threads().map(Thread::worked).sum();
    (worked.min(alive - site.figures.waited) / site.figures.waits.max(1) as f64).max(0.0)
}

fn finding(process: &Process, family: Option<&Family>, mut sites: Vec<usize>) -> Finding {
    let figures = |site: usize| &process.sites[site].figures;
    sites.sort_by_key(|&site| u64::MAX - figures(site).waits);
    let main = &process.sites[sites[0]];
    let waits: u64 = sites.iter().map(|&site| figures(site).waits).sum();
    let waited: f64 = sites.iter().map(|&site| figures(site).waited).sum();
    let per_second = waits as f64 / process.seconds;
    let uses = |lock: &Lock| lock.sites.iter().any(|u| sites.contains(&u.site));
    let locks = (0..process.locks.len()).filter(|&lock| uses(&process.locks[lock]));
    let waiting_sites = sites.clone();
    Finding {
        rule: Rule::CondvarForTinyEvents,
        title: "Threads are put to sleep for events that come at once".to_owned(),
        place: main.place.clone(),
        locks: locks.take(5).collect(),
        evidence: vec![
            rate("waits", per_second),
            seconds("mean wait", waited / waits.max(1) as f64),
            seconds("time between two waits of a thread, at most", work(process, main)),
            share("time to put threads to sleep and wake them, about", per_second * WAKE_UP),
            count("threads", main.threads as u64),
        ],
        advice: "Tell it with an atomic counter or flag that threads watch for some microseconds \
                 before they sleep (std::atomic::wait does that), or hand out more work at a \
                 time."
            .to_owned(),
        open_question: None,
        remedy: Remedy::FewerHandOvers { sites: waiting_sites, left: SEVERAL_AT_A_TIME },
        sites: {
            sites.extend(family.into_iter().flat_map(|family| &family.sites));
            sites
        },
        gain: None,
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// Two threads that each wait for tasks this often in a second, and do this between.
    fn tasks(per_second: u64, work: f64) -> Drawn {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("solve_pieces", 2, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "sync.lock");
        let condition = drawn.lock(Primitive::Condvar, "sync.taskAvail");
        let take = drawn.site(Op::MutexLock, "waitForTasks at taskQ.cpp:100");
        let wait = drawn.site(Op::CondWait, "waitForTasks at taskQ.cpp:105");
        drawn.sites[wait].threads = 2;
        drawn.sites[wait].by_thread = (first..first + 2).map(|t| (t, 10 * per_second)).collect();
        let waits = 2 * 10 * per_second;
        let waited = 2.0 * 10.0 - work * waits as f64;
        drawn.uses(lock, take, Use { calls: waits, ..Use::default() });
        drawn.uses(condition, wait, Use { calls: waits, waits, waited, ..Use::default() });
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn tiny_tasks_are_found_with_the_mutex_of_their_condition() {
        let findings = found(&tasks(20_000, 10e-6));
        assert_eq!(findings[0].place, "waitForTasks at taskQ.cpp:105");
        assert_eq!((findings[0].sites.clone(), findings.len()), (vec![1, 0], 1));
    }

    #[test]
    fn larger_tasks_and_long_waits_are_not() {
        assert_eq!(found(&tasks(20_000, 19e-6)).len(), 1);
        assert!(found(&tasks(20_000, 21e-6)).is_empty());
        assert_eq!(found(&tasks(5_000, 10e-6)).len(), 1, "waits of 190 µs");
        assert!(found(&tasks(4_700, 10e-6)).is_empty(), "waits of 203 µs: nothing to do");
    }

    #[test]
    fn to_wait_for_a_lock_or_a_processor_is_no_work() {
        let mut drawn = tasks(20_000, 21e-6);
        let first = drawn.sites[1].by_thread[0].0;
        for thread in first..first + 2 {
            drawn.waited(thread, Primitive::Condvar, 5.8);
            drawn.ready(thread, 0.5);
            drawn.waited(thread, Primitive::Mutex, 0.5);
        }
        assert_eq!(found(&drawn).len(), 1, "3.2 seconds of ten");
    }

    #[test]
    fn threads_that_lived_shortly_worked_as_long_as_they_lived() {
        let mut drawn = tasks(20_000, 21e-6);
        let first = drawn.sites[1].by_thread[0].0;
        for thread in first..first + 2 {
            drawn.threads[thread].seconds = 9.0;
        }
        assert_eq!(found(&drawn).len(), 1, "16 µs between two waits, and not 21");
    }

    #[test]
    fn few_events_are_not() {
        let mut drawn = tasks(20_000, 10e-6);
        drawn.seconds = 410.0;
        drawn.sites[1].figures.waited = 815.0;
        drawn.sites[1].figures.waits = 400_000;
        drawn.sites[1].figures.calls_per_second = 970.0;
        assert!(found(&drawn).is_empty());
    }

    /// Four threads that meet in so many rounds in ten seconds, and have that much processor time.
    fn meet(rounds: u64, worked: f64) -> Vec<Finding> {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("work", 4, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "mutex");
        let condition = drawn.lock(Primitive::Condvar, "all_came");
        let arrive = drawn.site(Op::MutexLock, "meet at barrier.c:10");
        drawn.uses(lock, arrive, Use { calls: 4 * rounds, ..Use::default() });
        let wait = drawn.site(Op::CondWait, "meet at barrier.c:14");
        let (waits, waited) = (3 * rounds, 40.0 - worked);
        drawn.uses(condition, wait, Use { calls: waits, waits, waited, ..Use::default() });
        let wake = drawn.site(Op::CondBroadcast, "meet at barrier.c:20");
        drawn.uses(condition, wake, Use { calls: rounds, ..Use::default() });
        for site in [arrive, wait, wake] {
            drawn.sites[site].threads = 4;
            drawn.sites[site].by_thread =
                (first..first + 4).map(|thread| (thread, rounds)).collect();
        }
        for thread in first..first + 4 {
            drawn.threads[thread].cpu = Some(worked / 4.0);
        }
        found(&drawn)
    }

    #[test]
    fn rounds_of_a_barrier_that_work_less_than_they_sleep_and_wake() {
        let findings = meet(10_000, 1.4);
        assert_eq!((findings.len(), &findings[0].place[..]), (1, "meet at barrier.c:14"));
        assert!(findings[0].title.contains("barrier"), "{}", findings[0].title);
        assert!(findings[0].advice.contains("more than processors"), "{}", findings[0].advice);
        assert!(meet(10_000, 1.6).is_empty(), "sleeping takes 0.15 seconds of it");
        assert!(meet(3_000, 0.1).is_empty(), "900 sleeps a second");
    }

    /// Four threads that meet at a barrier of the C library, with two in turn for each round of the work.
    fn meet_at_barriers(rounds: u64, worked: f64) -> Vec<Finding> {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("perform", 4, 10.0);
        let wait = drawn.site(Op::BarrierWait, "wait at engine.c:10");
        for name in ["begin", "end"] {
            let barrier = drawn.lock(Primitive::Barrier, name);
            let (waits, waited) = (4 * rounds, (40.0 - worked) / 2.0);
            drawn.uses(barrier, wait, Use { calls: waits, waits, waited, ..Use::default() });
            drawn.locks[barrier].threads = (first..first + 4).map(|t| (t, rounds)).collect();
        }
        drawn.sites[wait].by_thread = (first..first + 4).map(|t| (t, 2 * rounds)).collect();
        for thread in first..first + 4 {
            drawn.threads[thread].cpu = Some(worked / 4.0);
        }
        found(&drawn)
    }

    #[test]
    fn the_c_library_s_barriers_as_well() {
        let findings = meet_at_barriers(10_000, 2.9);
        assert_eq!((findings.len(), &findings[0].place[..]), (1, "wait at engine.c:10"));
        assert_eq!((findings[0].evidence[0].value, findings[0].evidence[1].value), (2_000.0, 4.0));
        assert!(meet_at_barriers(10_000, 3.1).is_empty(), "sleeping takes 0.3 seconds of it");
        assert!(meet_at_barriers(1_600, 0.1).is_empty(), "960 sleeps a second");
    }
}
