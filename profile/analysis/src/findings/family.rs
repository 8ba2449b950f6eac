//! Locks that are taken at the same call sites are of one family: they protect the same kind of
//! data in the same way, so a fault in them is one problem. 92,000 quiet locks that one line of
//! code takes are one busy family (SyncPerf, section 3.1.2).
//!
//! The calls and waits of a family also bound the gain: the most time that the program could save
//! without its locks. A rule applies only above a floor of that bound, since SyncPerf's thresholds
//! alone (1,000 acquisitions a second) would blame locks that cost a thousandth of a percent.

use std::cmp::Ordering;
use std::collections::HashMap;

use syncline_recording::Primitive;

use crate::held::{is_to_read, mean_held, share_of_work};
use crate::model::{Figures, Kind, Lock, Process, Site, Thread};

/// An upper bound, in seconds, of what an uncontended acquisition and its release take: 5 ns for a
/// mutex that stays in one processor's cache (`docs/benchmarks.md`), more if its cache line comes
/// from memory.
pub const PAIR: f64 = 20e-9;
/// Like [`PAIR`], for a lock that several threads take in turn: its cache line comes from another
/// processor, for the acquisition and often again for the release.
pub const SHARED_PAIR: f64 = 100e-9;
/// Like [`PAIR`], for locks that are mostly taken by one thread each: they stay in its cache, or
/// are prefetched in a walk over an array.
const OWN_PAIR: f64 = 7e-9;
/// A lock whose effective number of threads (`threads_of`) is below this is mostly one thread's.
const ONE_THREAD: f64 = 1.2;
/// The share of their processor time that threads spend in calls for locks if they do little else.
/// In our workloads (`docs/accuracy.md`), about this share was saved when the calls were removed.
const MOST_OF_TIME: f64 = 0.7;
/// If the section's instructions show what to do, calls are a finding if they take at least this
/// share of the run time. That is 10,000 acquisitions a second of a shared lock: each of the bugs
/// of SyncPerf's Table 2 has more, and both false alarms of its section 4.3 (1,252 and 1,916 a
/// second) have less.
pub const COST_FLOOR: f64 = 0.001;
/// Like [`COST_FLOOR`], if the advice is a guess.
pub const UNSURE_COST_FLOOR: f64 = 0.01;
/// Waits are a finding if those of all threads together take at least this share of the run time.
/// The smallest saving in SyncPerf's Table 2 was canneal's: half a second of 51.
pub const WAITED_FLOOR: f64 = 0.005;
/// With fewer waits and refused tries than this, a share of them means nothing.
pub const FEWEST_TAKEN: u64 = 10;

/// If this share of a lock's acquisitions is in functions that wait for a condition or signal it,
/// the lock belongs to the condition.
const OF_CONDITION: f64 = 0.1;

/// The least number of waits and signals of the condition for each acquisition. With fewer, the
/// lock does not exist for the condition; for example, the condition may only stop all threads for
/// a garbage collector.
const OFTEN_ENOUGH: f64 = 0.001;

/// The share of hand-overs that remains if threads pass on ten things at a time. The predicted gain
/// is for this case.
pub const SEVERAL_AT_A_TIME: f64 = 0.1;

/// Locks that are taken at the same call sites.
pub struct Family<'a> {
    process: &'a Process,
    /// The locks, those with most time waited first.
    pub locks: Vec<usize>,
    /// The call sites that take the locks, those with most calls first.
    pub sites: Vec<usize>,
}

impl Family<'_> {
    /// All families of a process.
    pub fn all(process: &Process) -> Vec<Family<'_>> {
        let mut sets = Sets::new(process.sites.len());
        let locks = || process.locks.iter().enumerate().filter(|(_, l)| l.kind == Kind::Lock);
        for (_, lock) in locks() {
            for pair in lock.sites.windows(2) {
                sets.unite(pair[0].site, pair[1].site);
            }
        }
        let mut numbers = HashMap::new();
        let mut families: Vec<Family> = Vec::new();
        for (place, lock) in locks() {
            let Some(first) = lock.sites.first() else { continue };
            let number = *numbers.entry(sets.root(first.site)).or_insert_with(|| {
                families.push(Family { process, locks: Vec::new(), sites: Vec::new() });
                families.len() - 1
            });
            families[number].locks.push(place);
        }
        for site in 0..process.sites.len() {
            if let Some(&number) = numbers.get(&sets.root(site)) {
                families[number].sites.push(site);
            }
        }
        for family in &mut families {
            family.sites.sort_by_key(|&site| (u64::MAX - process.sites[site].figures.calls, site));
        }
        families
    }

    fn figures(&self) -> impl Iterator<Item = &Figures> {
        self.sites.iter().map(|&site| &self.process.sites[site].figures)
    }

    /// The site with most calls.
    pub fn main_site(&self) -> &Site {
        &self.process.sites[self.sites[0]]
    }

    /// Acquisitions.
    pub fn calls(&self) -> u64 {
        self.figures().map(|figures| figures.calls).sum()
    }

    /// The share of acquisitions to read.
    pub fn reads(&self) -> f64 {
        let sites = self.sites.iter().map(|&site| &self.process.sites[site]);
        let calls: u64 =
            sites.filter(|site| is_to_read(site.op)).map(|site| site.figures.calls).sum();
        calls as f64 / self.calls().max(1) as f64
    }

    /// Acquisitions in a second.
    pub fn calls_per_second(&self) -> f64 {
        self.figures().map(|figures| figures.calls_per_second).sum()
    }

    /// Waits, and tries that were refused.
    pub fn found_taken(&self) -> u64 {
        self.figures().map(|figures| figures.waits + figures.refused).sum()
    }

    /// The share of all calls that found the lock taken.
    pub fn contention(&self) -> f64 {
        let wanted: u64 = self.figures().map(|f| f.calls + f.timeouts + f.refused).sum();
        if wanted == 0 { 0.0 } else { (self.found_taken() as f64 / wanted as f64).min(1.0) }
    }

    /// Seconds waited.
    pub fn waited(&self) -> f64 {
        self.figures().map(|figures| figures.waited).sum()
    }

    /// The mean time held, in seconds.
    pub fn mean_held(&self) -> f64 {
        mean_held(self.figures().map(|figures| figures.held).sum(), self.calls())
    }

    /// The largest number of threads that take the locks at one call site.
    pub fn threads(&self) -> usize {
        self.sites.iter().map(|&site| self.process.sites[site].threads).max().unwrap_or(0)
    }

    /// An upper bound of the seconds that an uncontended acquisition and its release take.
    pub fn pair(&self) -> f64 {
        // With fewer locks than threads, threads share a lock. With more, that isn't known.
        if self.locks.len() < self.threads() { SHARED_PAIR } else { PAIR }
    }

    /// The mean seconds of an uncontended acquisition and its release, for predictions: about what
    /// was saved by fixes that removed the calls, but no more than the threads' processor time
    /// allows.
    pub fn likely_pair(&self) -> f64 {
        let mut locks = self.locks.iter().map(|&lock| &self.process.locks[lock]);
        let one_thread = |lock: &Lock| threads_of(lock).is_none_or(|threads| threads < ONE_THREAD);
        let pair = match self.pair() {
            PAIR if locks.all(one_thread) => OWN_PAIR,
            pair => pair,
        };
        pair.min(self.affordable())
    }

    /// An upper bound of the mean time of a call and its release, from the processor time of the
    /// threads that make them. Infinite if these threads are not known.
    fn affordable(&self) -> f64 {
        let threads = self.process.threads_at(self.sites.iter().copied());
        let threads = || threads.iter().map(|&thread| &self.process.threads[thread]);
        let ran: f64 = threads().map(Thread::ran).sum();
        let calls: u64 = threads().map(|thread| thread.acquisitions).sum();
        if calls == 0 { f64::INFINITY } else { MOST_OF_TIME * ran / calls as f64 }
    }

    /// The cost of the calls without waits, of all threads together, as a share of the run time.
    pub fn cost(&self) -> f64 {
        self.calls_per_second() * self.pair()
    }

    /// The waits of all threads together, as a share of the run time.
    pub fn waited_share(&self) -> f64 {
        share_of_run(self.process, self.waited())
    }

    /// The locks with most waiting, at most five.
    pub fn few_locks(&self) -> Vec<usize> {
        few(&self.locks)
    }

    /// Whether a condition variable is waited for or signalled in a function that takes one of the
    /// locks: then the locks must be mutexes.
    pub fn has_condition(&self) -> bool {
        let sites = self.process.sites.iter();
        self.in_functions_of(sites.filter(|site| site.op.primitive() == Primitive::Condvar)) > 0
    }

    /// Whether the locks exist for a condition variable, as those of a queue do, whose two sides
    /// wait for each other. A condition that no thread waited for is not evidence of this, even if
    /// threads signalled it.
    pub fn is_of_condition(&self) -> bool {
        let waited_for =
            |lock: &&Lock| lock.primitive == Primitive::Condvar && lock.figures.waits > 0;
        let used = || self.process.locks.iter().filter(waited_for).flat_map(|lock| &lock.sites);
        let there = self.in_functions_of(used().map(|used| &self.process.sites[used.site]));
        let waits_and_signals: u64 = used().map(|used| used.calls).sum();
        there as f64 >= OF_CONDITION * self.calls() as f64
            && waits_and_signals as f64 >= OFTEN_ENOUGH * self.calls() as f64
    }

    /// The acquisitions in the functions of these sites.
    fn in_functions_of<'a>(&'a self, sites: impl Iterator<Item = &'a Site>) -> u64 {
        let functions = self.process.functions_of(sites);
        let sites = self.sites.iter().map(|&site| &self.process.sites[site]);
        let there = sites.filter(|&site| self.process.is_in(site, &functions));
        there.map(|site| site.figures.calls).sum()
    }
}

/// How many threads would be in the sections of a lock at the same time if it did not exclude them
/// and each had a processor. This is the share of the threads' working time for which the lock is
/// held, times the number of threads that take it. Above one, waiting is unavoidable, whatever the
/// processors and the load of the machine. Contention does not measure this: if few threads run at
/// a time, few find the lock taken.
pub fn wanted_at_once(process: &Process, lock: &Lock) -> f64 {
    let at_its_places = || lock.sites.iter().map(|use_| process.sites[use_.site].threads).max();
    let threads = threads_of(lock).unwrap_or_else(|| at_its_places().unwrap_or(0) as f64);
    share_of_work(process, lock) * threads
}

/// The effective number of threads that share a lock: the number of threads if all take it equally
/// often, and fewer otherwise. If one thread makes nearly all acquisitions, the result is little
/// more than 1. `None` if no thread took it.
fn threads_of(lock: &Lock) -> Option<f64> {
    let calls = || lock.threads.iter().map(|&(_, calls)| calls as f64);
    let squares: f64 = calls().map(|calls| calls * calls).sum();
    (squares > 0.0).then(|| calls().sum::<f64>().powi(2) / squares)
}

/// Seconds, summed over all threads, as a share of the run time.
pub fn share_of_run(process: &Process, seconds: f64) -> f64 {
    if process.seconds > 0.0 { seconds / process.seconds } else { 0.0 }
}

/// The first five of these locks.
pub fn few(locks: &[usize]) -> Vec<usize> {
    locks.iter().copied().take(5).collect()
}

/// Compares for a descending order.
pub fn descending(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

/// Disjoint sets of sites, or of other things: each element points to another of its set, the root
/// to itself.
pub struct Sets(Vec<usize>);

impl Sets {
    /// Creates `sites` sets of one element each.
    pub fn new(sites: usize) -> Sets {
        Sets((0..sites).collect())
    }

    /// The element that represents the set of `site`: the lowest in the set.
    pub fn root(&mut self, mut site: usize) -> usize {
        while self.0[site] != site {
            self.0[site] = self.0[self.0[site]];
            site = self.0[site];
        }
        site
    }

    /// Joins the sets of `a` and `b`.
    pub fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests;
