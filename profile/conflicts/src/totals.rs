//! The counts of all locks, whether or not their sections were traced.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use syncline_trace::Trace;
use syncline_trace::layout::{COUNTED_ONE_BY_ONE, WAITED};

use crate::sets::{LockSections, Sets};

/// The counts by lock and call site.
///
/// A lock is known by its address alone here: the tracer counts for an address and a call site, and
/// does not separate a lock that was freed from its successor. [`Totals::of_families`] divides
/// them.
#[derive(Default)]
pub struct Totals {
    /// By the lock's address, then by call site.
    by_lock: FxHashMap<u64, BySite>,
    pub sections_of: FxHashMap<(u64, u64), Vec<usize>>,
    pub held_samples: u64,
    /// The locks of which not all acquisitions may have been counted one by one.
    pub estimated: FxHashSet<u64>,
}

/// The counts of some locks by call site.
pub type BySite = FxHashMap<u64, Total>;

#[derive(Clone, Copy, Default)]
pub struct Total {
    pub acquisitions: u64,
    pub contended: u64,
    pub waited: u64,
    pub held: u64,
    pub held_samples: u64,
}

impl Total {
    /// The sum of these counts.
    pub fn sum<'a>(counts: impl Iterator<Item = &'a Total>) -> Total {
        counts.fold(Total::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }

    fn add(&mut self, other: &Total) {
        self.acquisitions = self.acquisitions.saturating_add(other.acquisitions);
        self.contended = self.contended.saturating_add(other.contended);
        self.waited = self.waited.saturating_add(other.waited);
        self.held = self.held.saturating_add(other.held);
        self.held_samples = self.held_samples.saturating_add(other.held_samples);
    }
}

impl Totals {
    pub fn of(trace: &Trace) -> Totals {
        let mut totals = Totals { estimated: estimated(trace), ..Totals::default() };
        for (_, count) in &trace.counts {
            totals.by_lock.entry(count.lock).or_default().entry(count.site).or_default().add(
                &Total {
                    acquisitions: count.acquisitions,
                    contended: count.contended,
                    waited: count.waited_ticks,
                    held: count.held_ticks,
                    held_samples: count.held_samples,
                },
            );
            totals.held_samples = totals.held_samples.saturating_add(count.held_samples);
        }
        for (number, section) in trace.sections.iter().enumerate() {
            let key = (section.record.lock, section.record.incarnation);
            totals.sections_of.entry(key).or_default().push(number);
        }
        if trace.header.ended == 0 {
            totals.add_unwritten(trace);
        }
        totals
    }

    /// Raises the counts of a process that was killed or still runs to at least the counts of its
    /// traced sections, because the process has not written all of its counts.
    fn add_unwritten(&mut self, trace: &Trace) {
        let mut seen: FxHashMap<(u64, u64), Total> = FxHashMap::default();
        for section in &trace.sections {
            let total = seen.entry((section.record.lock, section.record.site)).or_default();
            total.acquisitions += 1;
            total.contended += u64::from(section.record.flags & WAITED != 0);
            total.waited = total.waited.saturating_add(section.record.waited);
        }
        for ((lock, site), seen) in seen {
            let total = self.by_lock.entry(lock).or_default().entry(site).or_default();
            total.acquisitions = total.acquisitions.max(seen.acquisitions);
            total.contended = total.contended.max(seen.contended);
            total.waited = total.waited.max(seen.waited);
        }
    }

    /// The counts of each family of locks. If an address had locks of several families, one after
    /// the other, the counts of each call site go to the family with the most traced sections of
    /// that address and call site; if none was traced there, they go to the family with the most
    /// traced sections of that address.
    pub fn of_families(&self, trace: &Trace, families: &[Vec<&LockSections>]) -> Vec<BySite> {
        let mut at: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, family) in families.iter().enumerate() {
            for lock in family {
                let found = at.entry(lock.lock).or_default();
                if found.last() != Some(&number) {
                    found.push(number);
                }
            }
        }
        let mut counts = vec![BySite::default(); families.len()];
        for (lock, at) in at {
            for (&site, total) in self.by_lock.get(&lock).into_iter().flatten() {
                let traced = |&&number: &&usize| {
                    let locks = families[number].iter().filter(|one| one.lock == lock);
                    let keys = locks.map(|one| (lock, one.incarnation));
                    let sections = keys.filter_map(|key| self.sections_of.get(&key)).flatten();
                    sections.fold((0, 0), |(here, all), &section| {
                        let is_here = trace.sections[section].record.site == site;
                        (here + u64::from(is_here), all + 1)
                    })
                };
                let owner = match at[..] {
                    [only] => only,
                    _ => at.iter().max_by_key(traced).copied().unwrap_or_default(),
                };
                counts[owner].entry(site).or_default().add(total);
            }
        }
        counts
    }

    /// The locks of which nothing was traced, in the order of their addresses.
    pub fn untraced(&self, sets: &Sets) -> Vec<UntracedLock> {
        let traced: FxHashSet<u64> = sets.locks.iter().map(|lock| lock.lock).collect();
        let untraced = self.by_lock.iter().filter(|(lock, _)| !traced.contains(lock));
        let mut all: Vec<UntracedLock> = untraced
            .map(|(&lock, sites)| {
                let most = sites.iter().max_by_key(|&(site, total)| (total.acquisitions, site));
                let site = most.map_or(0, |(&site, _)| site);
                let Total { acquisitions, waited, .. } = Total::sum(sites.values());
                UntracedLock { lock, site, acquisitions, waited }
            })
            .collect();
        all.sort_unstable_by_key(|one| one.lock);
        all
    }
}

/// A lock of which no section was traced.
pub struct UntracedLock {
    /// Its address.
    pub lock: u64,
    /// The call site with the most acquisitions of it; 0 if none is known.
    pub site: u64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// How many ticks threads waited for it.
    pub waited: u64,
}

/// The locks of which not all acquisitions may have been counted one by one. Acquisitions are
/// sampled only if there is a budget. At each call site, a thread counts its acquisitions one by
/// one at first, for all locks together, and samples them when it has made enough.
fn estimated(trace: &Trace) -> FxHashSet<u64> {
    if trace.header.budget_permille == 0 {
        return FxHashSet::default();
    }
    let mut by_thread: FxHashMap<(u32, u64), u64> = FxHashMap::default();
    for (thread, count) in &trace.counts {
        let sum = by_thread.entry((*thread, count.site)).or_default();
        *sum = sum.saturating_add(count.acquisitions);
    }
    let is_often = |thread, site| by_thread[&(thread, site)] >= COUNTED_ONE_BY_ONE;
    let often = trace.counts.iter().filter(|(thread, count)| is_often(*thread, count.site));
    often.map(|(_, count)| count.lock).collect()
}
