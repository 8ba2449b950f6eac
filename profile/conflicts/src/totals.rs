//! The counts of all locks, whether or not their sections were traced.

use rustc_hash::{FxHashMap, FxHashSet};
use syncline_trace::Trace;
use syncline_trace::layout::{COUNTED_ONE_BY_ONE, WAITED};

use crate::sets::Sets;

/// The counts, by lock and call site.
#[derive(Default)]
pub struct Totals {
    pub by_lock: FxHashMap<u64, Total>,
    /// The number of acquisitions by lock, then by call site.
    pub by_site: FxHashMap<u64, FxHashMap<u64, u64>>,
    pub sections_of: FxHashMap<(u64, u64), Vec<usize>>,
    pub held_samples: u64,
    /// The locks of which not all acquisitions may have been counted one by one.
    pub estimated: FxHashSet<u64>,
}

#[derive(Clone, Copy, Default)]
pub struct Total {
    pub acquisitions: u64,
    pub contended: u64,
    pub waited: u64,
    pub held: u64,
    pub held_samples: u64,
}

impl Totals {
    pub fn of(trace: &Trace) -> Totals {
        let mut totals = Totals { estimated: estimated(trace), ..Totals::default() };
        for (_, count) in &trace.counts {
            let total = totals.by_lock.entry(count.lock).or_default();
            total.acquisitions = total.acquisitions.saturating_add(count.acquisitions);
            total.contended = total.contended.saturating_add(count.contended);
            total.waited = total.waited.saturating_add(count.waited_ticks);
            total.held = total.held.saturating_add(count.held_ticks);
            total.held_samples = total.held_samples.saturating_add(count.held_samples);
            totals.held_samples = totals.held_samples.saturating_add(count.held_samples);
            let site = totals.by_site.entry(count.lock).or_default().entry(count.site);
            let site = site.or_default();
            *site = site.saturating_add(count.acquisitions);
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
        let mut seen: FxHashMap<u64, Total> = FxHashMap::default();
        for section in &trace.sections {
            let total = seen.entry(section.record.lock).or_default();
            total.acquisitions += 1;
            total.contended += u64::from(section.record.flags & WAITED != 0);
            total.waited = total.waited.saturating_add(section.record.waited);
        }
        for (lock, seen) in seen {
            let total = self.by_lock.entry(lock).or_default();
            total.acquisitions = total.acquisitions.max(seen.acquisitions);
            total.contended = total.contended.max(seen.contended);
            total.waited = total.waited.max(seen.waited);
        }
    }

    /// The locks of which no section was traced, in the order of their addresses.
    pub fn untraced(&self, sets: &Sets) -> Vec<UntracedLock> {
        let traced: FxHashSet<u64> = sets.locks.iter().map(|lock| lock.lock).collect();
        let untraced = self.by_lock.iter().filter(|(lock, _)| !traced.contains(lock));
        let mut all: Vec<UntracedLock> = untraced
            .map(|(&lock, total)| {
                let sites = self.by_site.get(&lock).into_iter().flatten();
                let site = sites.max_by_key(|&(site, n)| (n, site)).map_or(0, |(&site, _)| site);
                let Total { acquisitions, waited, .. } = *total;
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
/// sampled only if there is a budget. Each thread samples them by call site, for all locks
/// together, once it has made enough of them there.
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
