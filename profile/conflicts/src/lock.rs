//! The facts of one lock, or of a family: several locks that belong together, such as those that
//! are acquired at one call site.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use syncline_trace::layout::ObjectRecord;
use syncline_trace::{Section, Trace};

use crate::conflict::{Cause, Comparison, Conflicts, Field, conflicts};
use crate::groups::{Groups, groups};
use crate::section::{SharedWords, SiteFacts, sites};
use crate::sets::{Loader, LockSections, Set, Sets};
use crate::totals::{BySite, Total, Totals};
use crate::touched::{Object, Touched, touched};

/// The facts of a lock, or of a family of locks.
#[derive(Clone, Debug)]
pub struct LockFacts {
    /// The lock's address; if there are several, that of the first.
    pub lock: u64,
    /// The number of locks.
    pub locks: usize,
    /// The addresses of all these locks.
    pub addresses: Vec<u64>,
    /// The block of the heap that contains the first lock; `None` if there is none.
    pub block: Option<ObjectRecord>,
    /// The number of acquisitions, traced or not.
    pub acquisitions: u64,
    /// Whether the number of acquisitions is partly an estimate.
    pub estimated: bool,
    /// How many acquisitions had to wait.
    pub contended: u64,
    /// The number of sections that were traced.
    pub traced: u64,
    /// The number of traced sections that could be compared.
    pub compared: u64,
    /// The number of threads that executed the traced sections.
    pub threads: usize,
    /// How many seconds threads waited for the lock.
    pub waited: f64,
    /// For how many seconds (estimated) the lock was held; 0 if no hold was timed.
    pub held: f64,
    /// The lock's weight in means over all locks: for how long it was held, or its number of
    /// instructions; see [`Overall::by_instructions`](crate::Overall::by_instructions).
    pub weight: f64,
    /// The comparison of sections with the last ones of their lock.
    pub window: Comparison,
    /// The comparison of sections with those that they waited for.
    pub waited_for: Comparison,
    /// The causes of conflicts, the most frequent first.
    pub causes: Vec<Cause>,
    /// The data that the lock's sections touch, the most touched first.
    pub touched: Vec<(Object, Touched)>,
    /// The independent pieces of data that the lock guards.
    pub groups: Groups,
    /// The independent pieces if the field of the first cause is ignored.
    pub groups_without: Groups,
    /// The call sites that acquire the lock, those with the most acquisitions first.
    pub sites: Vec<SiteFacts>,
    /// The number of sections that one thread began and another ended.
    pub handed_over: u64,
    /// Whether some sections held the lock as readers.
    pub shared_mode: bool,
}

impl LockFacts {
    /// The share of pairs that are independent; `None` if no pair was compared.
    pub fn independence(&self) -> Option<f64> {
        (self.window.pairs > 0).then(|| 1.0 - self.window.share())
    }
}

/// The data from which the facts of each lock are computed.
pub struct All<'a> {
    pub trace: &'a Trace,
    pub sets: &'a Sets,
    pub totals: &'a Totals,
    pub shared: &'a SharedWords,
}

/// The facts of the locks of a family, which have these counts. Each section is compared with the
/// last `window` sections of its lock.
pub fn lock_facts(
    all: &All<'_>,
    family: &[&LockSections],
    counts: &BySite,
    window: usize,
) -> LockFacts {
    let All { trace, sets, totals, shared } = *all;
    let timed = totals.held_samples > 0;
    let mut addresses: Vec<u64> = family.iter().map(|lock| lock.lock).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let total = Total::sum(counts.values());
    let sections: Vec<usize> = family
        .iter()
        .filter_map(|lock| totals.sections_of.get(&(lock.lock, lock.incarnation)))
        .flatten()
        .copied()
        .collect();
    let instructions: u64 = sections.iter().map(|&s| trace.sections[s].record.instructions).sum();
    let acquisitions = total.acquisitions.max(sections.len() as u64);
    let per_section = match (timed, total.held_samples) {
        (true, 0) => 0.0,
        (true, samples) => total.held as f64 / samples as f64,
        (false, _) => instructions as f64 / sections.len().max(1) as f64,
    };
    let ticks = trace.header.ticks_per_second.max(1) as f64;
    let weight = per_section * acquisitions as f64 / ticks;
    let compared = conflicts_of(trace, sets, family, window);
    let first: Vec<_> = compared.causes.first().map(|cause| cause.field).into_iter().collect();
    let set_of: FxHashMap<usize, &Set> =
        family.iter().flat_map(|lock| &lock.sets).map(|set| (set.section, set)).collect();
    let by_site: FxHashMap<u64, u64> =
        counts.iter().map(|(&site, total)| (site, total.acquisitions)).collect();
    let mut threads: Vec<u32> = sections.iter().map(|&s| trace.sections[s].thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let groups = groups_of(sets, family, &[]);
    LockFacts {
        lock: addresses[0],
        locks: addresses.len(),
        block: block_of(trace, &sections, addresses[0]),
        acquisitions,
        estimated: addresses.iter().any(|lock| totals.estimated.contains(lock)),
        contended: total.contended,
        traced: sections.len() as u64,
        compared: set_of.len() as u64,
        threads: threads.len(),
        waited: total.waited as f64 / ticks,
        held: if timed { weight } else { 0.0 },
        weight,
        window: compared.window,
        waited_for: compared.contended,
        causes: compared.causes,
        touched: touched(sets, family),
        groups,
        groups_without: if first.is_empty() { groups } else { groups_of(sets, family, &first) },
        sites: sites(trace, sets, &sections, &set_of, &by_site, (shared, &Loader::of(trace))),
        handed_over: family.iter().map(|lock| lock.handed_over).sum(),
        shared_mode: family.iter().flat_map(|lock| &lock.sets).any(|set| set.shared),
        addresses,
    }
}

/// The block that contains a lock, `None` if none is known. It is found in the records of the
/// lock's sections, which list the blocks that they touch and the block that contains the lock.
fn block_of(trace: &Trace, sections: &[usize], lock: u64) -> Option<ObjectRecord> {
    let of_lock = |section: &&Section| section.record.lock == lock;
    let sections = sections.iter().map(|&s| &trace.sections[s]);
    let section = sections.into_iter().find(of_lock)?;
    let covers = |o: &&ObjectRecord| {
        lock.wrapping_sub(o.start) < o.size && o.serial == section.record.incarnation
    };
    section.objects.iter().find(covers).copied()
}

fn conflicts_of(trace: &Trace, sets: &Sets, family: &[&LockSections], window: usize) -> Conflicts {
    let mut all = Conflicts::default();
    let mut causes: BTreeMap<_, Cause> = BTreeMap::new();
    for lock in family {
        let one = conflicts(trace, sets, lock, window);
        all.window = all.window.plus(one.window);
        all.contended = all.contended.plus(one.contended);
        for cause in one.causes {
            let kept = causes.entry(cause.field).or_insert(Cause { pairs: 0, alone: 0, ..cause });
            kept.pairs += cause.pairs;
            kept.alone += cause.alone;
            kept.bytes |= cause.bytes;
        }
    }
    all.causes = causes.into_values().collect();
    all.causes.sort_by_key(|c| (std::cmp::Reverse((c.pairs, c.alone)), c.field));
    all
}

/// The pieces of data of all locks of a family, added up, since different locks guard different
/// pieces.
fn groups_of(sets: &Sets, family: &[&LockSections], without: &[Field]) -> Groups {
    family.iter().map(|lock| groups(sets, lock, without)).fold(Groups::default(), |a, b| Groups {
        groups: a.groups + b.groups,
        met_again: a.met_again + b.met_again,
        largest: a.largest.max(b.largest),
        sections: a.sections + b.sections,
        words: a.words + b.words,
    })
}
