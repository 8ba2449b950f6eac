//! Locks of different threads on one cache line, mostly neighbours in an array.
//!
//! Which thread uses which lock is known. If uses come in random order, a use is by another thread
//! than the use before it with probability 1 − Σ pₜ², where pₜ is thread t's share of the uses.
//! Each such use has to fetch the line. This gives the number of fetches for all uses of the line.
//! The same formula for each lock alone gives the number if each lock had a line to itself. The
//! difference is the cost of sharing the line. 92,000 quiet locks in an array share lines as well,
//! at no cost.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::Primitive;

use crate::findings::evidence::{ask_hardware, count, rate, share};
use crate::findings::false_sharing::fetching::{FETCH, FLOOR};
use crate::findings::family::few;
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;
use crate::written::written;
use syncline_code::symbols::CACHE_LINE;

/// The findings about hot lines that locks share: one for all locks that are taken at the same call
/// site.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let mut lines: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (number, lock) in process.locks.iter().enumerate() {
        let bytes = match lock.primitive {
            Primitive::Mutex | Primitive::Rwlock | Primitive::Spinlock => written(lock.primitive),
            Primitive::Semaphore | Primitive::OmpLock => written(lock.primitive),
            // A condition is used with its mutex, and by the same threads.
            _ => continue,
        };
        let last = lock.address.saturating_add(bytes - 1) / CACHE_LINE;
        for line in lock.address / CACHE_LINE..=last {
            lines.entry(line).or_default().push(number);
        }
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for locks in lines.values().filter(|locks| locks.len() > 1) {
        let fetches = needless_fetches(process, locks);
        let hot = fetches > thresholds.acquisitions_per_second * process.seconds;
        if let Some(site) = busiest_site(process, locks).filter(|_| hot) {
            let group = groups.entry(site).or_default();
            group.lines += 1;
            group.fetches += fetches;
            group.locks.extend(locks);
        }
    }
    let worth_it = |group: &&Group| group.fetches * FETCH >= FLOOR * process.seconds;
    groups.values().filter(worth_it).filter_map(|group| group.finding(process)).collect()
}

/// Locks that share hot lines and are taken at the same call site.
#[derive(Default)]
struct Group {
    locks: BTreeSet<usize>,
    lines: u64,
    fetches: f64,
}

/// The calls of a sampled lock are estimates. From this many calls on there are about fifty samples
/// (one call in 128), which show well enough which threads make the calls. If a thread calls very
/// often at the call site, there are fewer, down to twelve (one call in 512).
const WELL_SAMPLED: u64 = 6_400;

/// How many fetches of these locks' line would have been avoided if each lock had its own line.
fn needless_fetches(process: &Process, locks: &[usize]) -> f64 {
    let mut all: BTreeMap<usize, u64> = BTreeMap::new();
    let mut alone = 0.0;
    // For a lock with few samples, the threads that use it are not known.
    let known = |&&lock: &&usize| {
        !process.locks[lock].sampled || process.locks[lock].figures.calls >= WELL_SAMPLED
    };
    for &lock in locks.iter().filter(known) {
        let threads = &process.locks[lock].threads;
        alone += fetches(threads.iter().map(|&(_, calls)| calls));
        for &(thread, calls) in threads {
            *all.entry(thread).or_default() += calls;
        }
    }
    (fetches(all.values().copied()) - alone).max(0.0)
}

/// Estimates how many uses are by another thread than the use before, from the number of uses by
/// each thread.
fn fetches(uses: impl Iterator<Item = u64> + Clone) -> f64 {
    let all: f64 = uses.clone().map(|uses| uses as f64).sum();
    let squares: f64 = uses.map(|uses| (uses as f64).powi(2)).sum();
    if all > 0.0 { all - squares / all } else { 0.0 }
}

/// The site with most calls for the most used of these locks.
fn busiest_site(process: &Process, locks: &[usize]) -> Option<usize> {
    let lock = locks.iter().max_by_key(|&&lock| process.locks[lock].figures.calls)?;
    let used = process.locks[*lock].sites.iter().max_by_key(|used| used.calls)?;
    Some(used.site)
}

impl Group {
    fn finding(&self, process: &Process) -> Option<Finding> {
        let mut calls: BTreeMap<usize, u64> = BTreeMap::new();
        for used in self.locks.iter().flat_map(|&lock| &process.locks[lock].sites) {
            *calls.entry(used.site).or_default() += used.calls;
        }
        let mut sites: Vec<usize> = calls.keys().copied().collect();
        sites.sort_by_key(|site| (u64::MAX - calls[site], *site));
        let main = *sites.first()?;
        let mut locks: Vec<usize> = self.locks.iter().copied().collect();
        locks.sort_by_key(|&lock| process.locks[lock].address);
        let strides = locks
            .windows(2)
            .map(|pair| process.locks[pair[1]].address - process.locks[pair[0]].address);
        let stride = strides.min().unwrap_or(0);
        locks.sort_by_key(|&lock| (u64::MAX - process.locks[lock].figures.calls, lock));
        let of_sites: u64 = sites.iter().map(|&site| process.sites[site].figures.calls).sum();
        Some(Finding {
            rule: Rule::LocksShareLine,
            title: "Locks of different threads lie on one cache line".to_owned(),
            place: process.sites[main].place.clone(),
            evidence: vec![
                count("locks", locks.len() as u64),
                count("cache lines", self.lines),
                count("bytes from one lock to the next", stride),
                rate(
                    "needless fetches of a line, if threads take turns",
                    self.fetches / process.seconds,
                ),
                share(
                    "time for these fetches, as a share of the run time (estimate)",
                    self.fetches * FETCH / process.seconds,
                ),
            ],
            locks: few(&locks),
            advice: "Give each lock a cache line of its own, or two, since processors fetch them \
                     in pairs: alignas(128), or padding, best together with the data that it \
                     protects."
                .to_owned(),
            open_question: ask_hardware("Do the threads use these locks at the same time?"),
            remedy: Remedy::CheaperCalls {
                seconds_per_call: FETCH * self.fetches / of_sites.max(1) as f64,
                sites: sites.clone(),
                waits_left: 1.0,
            },
            sites,
            gain: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use syncline_recording::Op;

    use super::*;
    use crate::findings::false_sharing::find;
    use crate::findings::testing::{Use, process};

    /// The findings for mutexes that are `stride` bytes apart. `uses` has, for each mutex, how
    /// often each of two threads takes it in ten seconds.
    fn array(stride: u64, uses: &[[u64; 2]]) -> Vec<Finding> {
        array_at(0x4000, stride, uses)
    }

    fn array_at(start: u64, stride: u64, uses: &[[u64; 2]]) -> Vec<Finding> {
        let mut drawn = process(10.0, 4);
        let first = drawn.threads("count", 2, 10.0);
        let site = drawn.site(Op::MutexLock, "count at histogram.c:40");
        for (number, of_threads) in uses.iter().enumerate() {
            let lock = drawn.lock(Primitive::Mutex, "locks");
            drawn.locks[lock].address = start + stride * number as u64;
            drawn.locks[lock].threads = vec![(first, of_threads[0]), (first + 1, of_threads[1])];
            let calls = of_threads.iter().sum();
            drawn.uses(lock, site, Use { calls, ..Use::default() });
        }
        find(&drawn, &Thresholds::default())
    }

    #[test]
    fn neighbours_of_different_threads_are_found_once() {
        let findings = array(40, &[[20_000_000, 0], [0, 20_000_000]]);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "count at histogram.c:40");
        let value =
            |what: &str| findings[0].evidence.iter().find(|e| e.what == what).unwrap().value;
        assert_eq!((value("locks"), value("bytes from one lock to the next")), (2.0, 40.0));
        assert_eq!(value("needless fetches of a line, if threads take turns"), 2_000_000.0);
        let four = array(40, &[[0, 9_000_000], [9_000_000, 0], [0, 9_000_000], [9_000_000, 0]]);
        assert_eq!(four.len(), 1, "two lines");
    }

    #[test]
    fn locks_on_separate_lines_or_of_one_thread_have_no_finding() {
        assert!(array(64, &[[20_000_000, 0], [0, 20_000_000]]).is_empty());
        assert!(array(40, &[[20_000_000, 0], [20_000_000, 0]]).is_empty());
        let common = [10_000_000, 10_000_000];
        assert!(array(40, &[common, common]).is_empty(), "each is shared anyway");
    }

    #[test]
    fn a_locks_unwritten_bytes_may_share_a_line() {
        // The last eight of the first mutex's 40 bytes are on the second one's line.
        assert!(array_at(0x4020, 40, &[[20_000_000, 0], [0, 20_000_000]]).is_empty());
        assert_eq!(array_at(0x4030, 40, &[[20_000_000, 0], [0, 20_000_000]]).len(), 1);
    }

    #[test]
    fn many_quiet_locks_have_no_finding() {
        let half = [[3_300_000, 0], [0, 3_300_000]];
        assert!(array(40, &half).is_empty(), "1.98 % of the run");
        assert_eq!(array(40, &[[3_400_000, 0], [0, 3_400_000]]).len(), 1);
        let many = [[8_000, 0], [0, 8_000]].repeat(2_000);
        assert!(
            array(40, &many).is_empty(),
            "fewer than a thousand fetches a second for each line"
        );
    }
}
