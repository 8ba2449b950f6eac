//! A lock that threads wait for during much of their time, although each section is short and few
//! acquisitions find it taken.
//!
//! If the waiters of a mutex sleep, the thread that has just released the mutex may take it again
//! many times before a woken waiter has a processor. So few acquisitions wait, but those wait long.
//! If the sections touch little, or the lock belongs to a queue, the lock can't be split; threads
//! should take it less often.

use crate::findings::blocked_holder::holder::TIME_SLICE;
use crate::findings::blocked_holder::preempted;
use crate::findings::evidence::{ask_inspect, count, rate, seconds, share};
use crate::findings::family::{FEWEST_TAKEN, Family, PAIR, descending};
use crate::findings::meeting::Meeting;
use crate::findings::working::could_run;
use crate::held::on_processor;
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// A lock's threads must wait for it for at least this share of their time. Time in which they are
/// ready and have no processor does not count as theirs.
const LEAST: f64 = 0.15;
/// The problem of sections that are held longer than this, in seconds, is their length and not
/// their number.
const SHORT: f64 = 10e-6;
/// If a family's locks are taken less often than this in a second, it would not help to take them
/// less often still.
const OFTEN: f64 = 1000.0;
/// If the mean wait is longer, threads wait for holders that lost their processors.
const LONGEST: f64 = TIME_SLICE;
/// If holders had a processor for no more than this share of the time held, threads wait for the
/// holders to get processors.
const MOSTLY_ON: f64 = 0.5;

/// The findings about locks that are taken often and waited for long, one for each family.
pub fn find(process: &Process, _: &Thresholds) -> Vec<Finding> {
    let families = Family::all(process);
    families.iter().filter_map(|family| finding(process, family)).collect()
}

fn finding(process: &Process, family: &Family) -> Option<Finding> {
    let threads = process.threads_at(family.sites.iter().copied());
    let alive: f64 = threads.iter().map(|&thread| could_run(&process.threads[thread])).sum();
    let lived: f64 = threads.iter().map(|&thread| process.threads[thread].seconds).sum();
    let waited = family.waited();
    let waits: u64 = family.sites.iter().map(|&site| process.sites[site].figures.waits).sum();
    // If other threads are always ready to run, no processor is idle because of the waits.
    let crowded = process.processors.is_some_and(|processors| threads.len() > processors);
    let applies = waits >= FEWEST_TAKEN
        && !(crowded && process.times.ready > waited)
        && family.locks.len() < family.threads()
        && waited <= LONGEST * waits as f64
        && waited >= LEAST * alive
        && alive > 0.0
        && family.mean_held() < SHORT
        && family.calls_per_second() >= OFTEN
        && on_processor(process, &family.sites) > MOSTLY_ON
        && Meeting::at(process, family).is_none()
        && !preempted::explains_waits_at(process, &family.sites);
    if !applies {
        return None;
    }
    let mut sites = family.sites.clone();
    let waited_at = |site: usize| process.sites[site].figures.waited;
    sites.sort_by(|&a, &b| descending(waited_at(a), waited_at(b)));
    let advice = match family.is_of_condition() {
        true => {
            "Take the lock less often: pass several elements at a time, or larger pieces of work, \
             so that each acquisition passes on more work; or give each thread a queue of its own."
        }
        false => {
            "Take the lock less often: give each thread a part of its own (a pool, a cache, a \
             counter), and let it use the common part for many things at a time; or do several \
             things with one acquisition."
        }
    };
    Some(Finding {
        rule: Rule::TakenTooOften,
        title: "Threads wait long for a lock that is held for moments".to_owned(),
        place: process.sites[sites[0]].place.clone(),
        locks: family.few_locks(),
        evidence: vec![
            share("share of its threads' time spent waiting for it", waited / lived.max(1e-9)),
            rate("acquisitions", family.calls_per_second()),
            count("waits", waits),
            seconds("mean wait", waited / waits as f64),
            seconds("mean time held (estimate)", family.mean_held()),
        ],
        advice: advice.to_owned(),
        open_question: ask_inspect("Which data do the sections access?"),
        remedy: Remedy::RemoveLock {
            sites: sites.clone(),
            seconds_per_call: family.likely_pair().min(PAIR),
        },
        sites,
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use syncline_recording::{Op, Primitive};

    use super::*;
    use crate::findings::testing::{Drawn, Use, process};

    /// Two threads that in ten seconds take a pool's lock `calls` times, hold it for `held` seconds
    /// in all, and wait for it for `waited` seconds.
    fn pool(calls: u64, waited: f64, held: f64) -> Drawn {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("allocate", 2, 10.0);
        let lock = drawn.lock(Primitive::Mutex, "pool");
        let site = drawn.site(Op::MutexLock, "take at pool.h:10");
        drawn.uses(lock, site, Use { calls, waits: 20_000, waited, held, ..Use::default() });
        drawn.by_thread(site, [(first, calls / 2), (first + 1, calls / 2)]);
        drawn
    }

    fn found(drawn: &Drawn) -> Vec<Finding> {
        find(drawn, &Thresholds::default())
    }

    #[test]
    fn much_waiting_for_a_rarely_contended_lock_is_found() {
        let findings = found(&pool(20_000_000, 6.0, 1.0));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "take at pool.h:10");
        assert!(findings[0].advice.contains("a part of its own"), "{}", findings[0].advice);
    }

    #[test]
    fn little_waiting_and_long_or_rare_sections_have_no_finding() {
        assert!(found(&pool(20_000_000, 2.9, 1.0)).is_empty(), "14 % of its threads' time");
        assert!(found(&pool(9_000, 6.0, 0.05)).is_empty(), "900 times a second");
        assert!(found(&pool(20_000, 6.0, 4.0)).is_empty(), "200 us held");
        let mut preempted = pool(20_000_000, 6.0, 1.0);
        preempted.sites[0].figures.waits = 11_000;
        assert!(found(&preempted).is_empty(), "each for 545 us");
        let mut striped = pool(20_000_000, 6.0, 1.0);
        for _ in 0..2 {
            let other = striped.lock(Primitive::Mutex, "pool");
            striped.uses(other, 0, Use { calls: 1, ..Use::default() });
        }
        assert!(found(&striped).is_empty(), "as many locks as threads");
    }

    #[test]
    fn time_without_a_processor_is_not_lock_time() {
        let mut busy = pool(20_000_000, 2.0, 1.0);
        let last = busy.threads.len() - 1;
        assert!(found(&busy).is_empty());
        busy.ready(last, 8.0);
        let findings = found(&busy);
        assert_eq!(findings.len(), 1, "2 of the 12 seconds in which they could run");
        let waited = share("share of its threads' time spent waiting for it", 0.1);
        assert_eq!(findings[0].evidence[0], waited, "2 of the 20 seconds for which they lived");
        let site = &mut busy.sites[0].figures.holder;
        (site.seconds, site.off_cpu) = (1.0, 0.6);
        assert!(found(&busy).is_empty(), "holders lost their processors");
    }

    #[test]
    fn waits_that_leave_the_processors_to_other_threads_cost_nothing() {
        let mut ready = pool(20_000_000, 6.0, 1.0);
        ready.times.ready = 7.0;
        assert_eq!(found(&ready).len(), 1, "other programs have the processors");
        ready.processors = Some(1);
        assert!(found(&ready).is_empty());
        ready.times.ready = 5.0;
        assert_eq!(found(&ready).len(), 1);
    }

    #[test]
    fn a_queue_passes_several_at_a_time() {
        let mut queue = pool(2_000_000, 6.0, 0.2);
        let condition = queue.lock(Primitive::Condvar, "not_empty");
        for (op, calls) in [(Op::CondWait, 500_000), (Op::CondSignal, 900_000)] {
            let site = queue.site(op, "take at pool.h:12");
            queue.uses(condition, site, Use { calls, waits: calls / 2, ..Use::default() });
        }
        let findings = found(&queue);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].advice.contains("several elements"), "{}", findings[0].advice);
    }
}
