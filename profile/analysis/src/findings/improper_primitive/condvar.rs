//! Condition variables for events that come so fast that putting threads to sleep and waking
//! them takes longer than what they do in between (SyncPerf, facesim). An atomic flag or
//! counter that threads watch for a moment gives them the same news at once.
//!
//! The rule looks at how long threads wait and how much they do between two waits. Threads
//! that wait long have nothing to do, and are right to sleep; for threads that do much between two
//! waits the wake-up is a small part.

use std::collections::BTreeMap;

use syncline_recording::{Class, Primitive};

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::{Family, WAKE_UP};
use crate::model::{Finding, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// The least share of the run time that such wake-ups take.
const FLOOR: f64 = 0.01;
/// Waits whose mean is below this are short: threads that have to wait for a processor are woken
/// later than this.
const SHORT_WAIT: f64 = 200e-6;
/// The most that a thread does between two waits on the average, in seconds: a few times
/// what being woken takes.
const LITTLE_WORK: f64 = 20e-6;

/// Condition variables of tiny events.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    // Conditions whose functions take the same locks serve one purpose.
    let mut together: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (number, site) in process.sites.iter().enumerate() {
        if site.op.primitive() == Primitive::Condvar && site.op.class() == Class::Wait {
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
    together.into_iter().filter_map(finding).collect()
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

/// Seconds from one wait of a thread to its next, on the average.
fn work(process: &Process, site: &Site) -> f64 {
    let alive = site.threads as f64 * process.seconds;
    ((alive - site.figures.waited) / site.figures.waits.max(1) as f64).max(0.0)
}

fn finding(process: &Process, family: Option<&Family>, mut sites: Vec<usize>) -> Finding {
    let figures = |site: usize| &process.sites[site].figures;
    sites.sort_by_key(|&site| u64::MAX - figures(site).waits);
    let main = &process.sites[sites[0]];
    let waits: u64 = sites.iter().map(|&site| figures(site).waits).sum();
    let waited: f64 = sites.iter().map(|&site| figures(site).waited).sum();
    let per_second = waits as f64 / process.seconds;
    let uses = |lock: &crate::model::Lock| lock.sites.iter().any(|u| sites.contains(&u.site));
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
        remedy: Remedy::CheaperCalls {
            sites: waiting_sites,
            seconds_per_call: WAKE_UP,
            waits_left: 1.0,
        },
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
        drawn.threads("solve_pieces", 2, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "sync.lock");
        let condition = drawn.lock(Primitive::Condvar, "sync.taskAvail");
        let take = drawn.site(Op::MutexLock, "waitForTasks at taskQ.cpp:100");
        let wait = drawn.site(Op::CondWait, "waitForTasks at taskQ.cpp:105");
        drawn.sites[wait].threads = 2;
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
    fn few_events_are_not() {
        let mut drawn = tasks(20_000, 10e-6);
        drawn.seconds = 410.0;
        drawn.sites[1].figures.waited = 815.0;
        drawn.sites[1].figures.waits = 400_000;
        drawn.sites[1].figures.calls_per_second = 970.0;
        assert!(found(&drawn).is_empty());
    }
}
