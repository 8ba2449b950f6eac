//! Locks whose waiters yield before they sleep, as `parking_lot`'s do. If sections are short, a
//! waiter gets the lock before it sleeps in the futex, and only its yields show the contention. As
//! with futexes, holders and sections are unknown.

use syncline_recording::Op;

use super::known::{Known, OF_LOCK, UNSEEN};
use crate::findings::evidence::{count, rate, share};
use crate::model::{Finding, Process, Remedy, Rule, Site};
use crate::options::Thresholds;

/// The threads at a call site must lose at least this share of their lives there. It is small
/// because they lose more time elsewhere: their locks' cache lines are contended in the rest of the
/// time as well.
const LEAST_SHARE: f64 = 0.05;

/// Whether threads yield at this site until they get a lock.
pub fn is_lock(process: &Process, site: &Site) -> bool {
    site.op == Op::Yield && Known::of(process, site) == Some(Known::Lock)
}

/// Finds the call sites where threads yield much and often before they get a lock.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let sites = process.sites.iter().enumerate();
    let locks = sites.filter(|(_, site)| is_lock(process, site));
    locks.filter_map(|(number, _)| contended(process, number, thresholds)).collect()
}

/// The finding about a call site, if threads lose enough there.
fn contended(process: &Process, yields: usize, thresholds: &Thresholds) -> Option<Finding> {
    let site = &process.sites[yields];
    let same = |other: &Site| {
        site.frame.is_some()
            && other.frame == site.frame
            && matches!(other.op, Op::FutexWait | Op::Spin)
    };
    let others = (0..process.sites.len()).filter(|&number| same(&process.sites[number]));
    let sites: Vec<usize> = [yields].into_iter().chain(others).collect();
    let threads = process.threads_at([yields].into_iter());
    let lives: f64 = threads.iter().map(|&thread| process.threads[thread].seconds).sum();
    let lost: f64 = sites.iter().map(|&number| process.sites[number].figures.lost()).sum();
    let calls = site.figures.calls as f64 / process.seconds;
    let applies = threads.len() > 1
        && calls > thresholds.acquisitions_per_second
        && lost >= LEAST_SHARE * lives;
    applies.then(|| Finding {
        rule: Rule::BusyFutex,
        title: "Threads yield and wait for each other at a lock".to_owned(),
        place: site.place.clone(),
        evidence: vec![
            rate("yields", calls),
            share("share of these threads' time lost here", lost / lives),
            count("threads", threads.len() as u64),
        ],
        locks: Vec::new(),
        advice: format!("It is a lock: {OF_LOCK}. {UNSEEN}"),
        sites,
        open_question: None,
        remedy: Remedy::Unknown,
        gain: None,
    })
}

#[cfg(test)]
mod tests {
    use syncline_recording::Primitive;

    use super::*;
    use crate::findings::testing::{Use, process};

    /// The findings if the function `inside` yields `calls` times, for `spun` seconds in all. There
    /// are two threads of ten seconds each; the first `threads` of them yield.
    fn found(inside: &str, calls: u64, spun: f64, threads: usize) -> Vec<Finding> {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("intern", 2, 10.0);
        let processor = drawn.lock(Primitive::Yield, "yield");
        let site = drawn.site(Op::Yield, "insert at set.rs:20");
        drawn.uses(processor, site, Use { calls, spun, ..Use::default() });
        drawn.by_thread(site, (first..first + threads).map(|t| (t, calls / 2)));
        drawn.calls_inside(site, inside);
        find(&drawn, &Thresholds::default())
    }

    #[test]
    fn yields_inside_a_lock_are_contention() {
        let lock = "parking_lot::raw_mutex::RawMutex::lock_slow at raw_mutex.rs:229";
        let findings = found(lock, 1_000_000, 1.1, 2);
        assert_eq!(findings[0].place, "insert at set.rs:20");
        assert!(findings[0].advice.starts_with("It is a lock"));
        assert!(found(lock, 1_000_000, 0.9, 2).is_empty(), "4.5 % of their lives");
        assert!(found(lock, 9_900, 1.1, 2).is_empty(), "990 a second");
        assert!(found(lock, 1_000_000, 1.1, 1).is_empty(), "nobody contends with it");
        let queue = "crossbeam_channel::flavors::array::Channel::recv at array.rs:200";
        assert!(found(queue, 1_000_000, 1.1, 2).is_empty(), "an event");
    }

    #[test]
    fn sleeps_in_the_locks_futex_count_with_the_yields() {
        let mut drawn = process(10.0, 2);
        let first = drawn.threads("intern", 2, 10.0);
        let processor = drawn.lock(Primitive::Yield, "yield");
        let yields = drawn.site(Op::Yield, "lock_slow at mutex.rs:1");
        drawn.uses(processor, yields, Use { calls: 1_000_000, spun: 0.6, ..Use::default() });
        drawn.by_thread(yields, vec![(first, 1), (first + 1, 1)]);
        let futex = drawn.lock(Primitive::Futex, "word");
        let wait = drawn.site(Op::FutexWait, "insert at set.rs:20");
        drawn.uses(futex, wait, Use { calls: 10, waits: 10, waited: 0.6, ..Use::default() });
        let outer = drawn.stacks[drawn.sites[wait].stacks[0]].frames[0];
        let stack = drawn.sites[yields].stacks[0];
        drawn.stacks[stack].frames.push(outer);
        drawn.sites[yields].frame = Some(outer);
        drawn.sites[wait].frame = Some(outer);
        let findings = find(&drawn, &Thresholds::default());
        assert_eq!(findings[0].sites, [yields, wait]);
    }
}
