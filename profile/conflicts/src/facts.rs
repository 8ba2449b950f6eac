//! Everything that a trace says of its locks, by address.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use syncline_trace::layout::{COUNTED_ONE_BY_ONE, ObjectRecord, WAITED};
use syncline_trace::{Section, Trace};

use crate::conflict::{Cause, Comparison, Conflicts, conflicts};
use crate::enough::{Scarce, scarce};
use crate::groups::{Groups, groups};
use crate::section::{SharedPlaces, SiteFacts, sites};
use crate::sets::{Loader, LockSections, Set, Sets};
use crate::touched::{Object, Touched, touched};

/// How sections are compared.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// With how many earlier sections of its lock each one is compared.
    pub window: usize,
    /// Processors that the program could use.
    pub processors: usize,
}

impl Options {
    /// Syncchar's window: its results change by less than 5 % from 50 to 100 sections for most
    /// locks, and more processors than this were not to be expected (section 3).
    pub const WINDOW: usize = 128;
}

/// What is known of a lock, or of several that are acquired at the same place.
#[derive(Clone, Debug)]
pub struct LockFacts {
    /// The lock's address; that of the first, if there are several.
    pub lock: u64,
    /// How many locks these are.
    pub locks: usize,
    /// The addresses of all of them.
    pub addresses: Vec<u64>,
    /// The block of the heap that the first lies in, if it lies in one.
    pub block: Option<ObjectRecord>,
    /// Acquisitions, traced or not.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate.
    pub estimated: bool,
    /// Of those, how many had to wait.
    pub contended: u64,
    /// Sections traced.
    pub traced: u64,
    /// Sections that were traced and could be compared.
    pub compared: u64,
    /// Threads that acquired it, in traced sections.
    pub threads: usize,
    /// Seconds that threads waited for it.
    pub waited: f64,
    /// Seconds that it was held; 0 if no section was timed.
    pub held: f64,
    /// What it weighs in the mean: that time, or instructions; see [`Overall::by_instructions`].
    pub weight: f64,
    /// Against the last sections.
    pub window: Comparison,
    /// Against the sections that were waited for.
    pub waited_for: Comparison,
    /// What pairs conflict on, the most frequent first.
    pub causes: Vec<Cause>,
    /// What its sections touch, the most first.
    pub touched: Vec<(Object, Touched)>,
    /// The data that it guards.
    pub groups: Groups,
    /// The data that it guards, but for the first of the causes.
    pub groups_without: Groups,
    /// Its call sites, those that acquired most first.
    pub sites: Vec<SiteFacts>,
    /// Sections that another thread ended than began them.
    pub handed_over: u64,
    /// Whether some sections held it for reading.
    pub shared_mode: bool,
}

impl LockFacts {
    /// The share of pairs that are independent; none if no pair was compared.
    pub fn independence(&self) -> Option<f64> {
        (self.window.pairs > 0).then(|| 1.0 - self.window.share())
    }
}

/// What is known of all locks together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overall {
    /// The mean independence, weighted by the time that the locks were held; none if no pair was
    /// compared.
    pub independence: Option<f64>,
    /// What the sample leaves open of it, as [`Comparison::uncertainty`]; 1 if there is none.
    pub uncertainty: f64,
    /// Processors that optimistic sections of that independence could keep busy, of those there
    /// are.
    pub busy: Option<f64>,
    /// The same of the 15 processors of Syncchar's machine.
    pub busy_of_15: Option<f64>,
    /// Acquisitions of the locks that were traced.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate.
    pub estimated: bool,
    /// Whether the process could not say what it had counted last: it was killed, or still runs.
    /// Then acquisitions, and how many waited, are at least so many.
    pub cut_short: bool,
    /// Sections traced.
    pub traced: u64,
    /// The locks of which no section was traced.
    pub untraced: Untraced,
    /// Whether locks are weighted by instructions in place of time, since no section was timed
    /// that was not traced.
    pub by_instructions: bool,
    /// Seconds that the threads ran, together.
    pub thread_seconds: f64,
    /// Seconds that tracing cost, over all threads.
    pub cost: f64,
}

/// Locks of which no section was traced: the sample had none, or they were not asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Untraced {
    /// How many locks.
    pub locks: u64,
    /// Their acquisitions.
    pub acquisitions: u64,
    /// Seconds that threads waited for them.
    pub waited: f64,
    /// The one that was waited for longest, and how long; none if none was.
    pub longest: Option<(u64, f64)>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The locks that were traced, those that were held longest first.
    pub locks: Vec<LockFacts>,
    /// All together.
    pub overall: Overall,
    /// Those of the most waited for of which too few sections were traced.
    pub scarce: Vec<Scarce>,
}

/// Processors that a share of independent pairs keeps busy, of so many: what is independent of
/// one section runs beside it. Syncchar gives 24.1 % on 15 processors as 4 (section 4.2), and no
/// formula; this one gives 4.4, and is right where all or nothing is independent.
pub fn busy(independence: f64, processors: usize) -> f64 {
    1.0 + independence * (processors.max(1) - 1) as f64
}

/// Works out the facts of a trace.
pub fn facts(trace: &Trace, options: &Options) -> Facts {
    facts_with(trace, options, &mut |_, _| {})
}

/// As [`facts`]; says as it goes how many steps of how many are done. A step is a section, once where
/// its set is made and once where it is compared.
pub fn facts_with(
    trace: &Trace,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Facts {
    facts_by(trace, options, &|_| None, progress)
}

/// As [`facts_with`], of which locks belong together being known: `family` gives the same number for
/// these. Locks without a number are told by the call site that acquires them most.
pub fn facts_by(
    trace: &Trace,
    options: &Options,
    family: &dyn Fn(u64) -> Option<u64>,
    progress: &mut dyn FnMut(usize, usize),
) -> Facts {
    let (mut done, all) = (0, 2 * trace.sections.len());
    let sets = Sets::of(trace, || {
        done += 1;
        progress(done, all);
    });
    let totals = Totals::of(trace);
    let mut families: BTreeMap<u64, Vec<&LockSections>> = BTreeMap::new();
    for lock in &sets.locks {
        let family = family(lock.lock).unwrap_or_else(|| main_site(trace, lock));
        families.entry(family).or_default().push(lock);
    }
    let shared = SharedPlaces::of(&sets);
    let all_of = All { trace, sets: &sets, totals: &totals, shared: &shared };
    let mut locks: Vec<LockFacts> = families
        .into_values()
        .map(|family| {
            let lock = one(&all_of, &family, options);
            done += family.iter().map(|lock| lock.sets.len()).sum::<usize>();
            progress(done, all);
            lock
        })
        .collect();
    locks.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.lock.cmp(&b.lock)));
    let untraced_locks = totals.untraced(&sets);
    let untraced = together(&untraced_locks, trace);
    let overall = Overall { untraced, ..overall(trace, &locks, options, totals.held_samples == 0) };
    let scarce = scarce(trace, &locks, &untraced_locks, overall.thread_seconds);
    Facts { locks, overall, scarce }
}

/// The call site of most of a lock's traced sections.
fn main_site(trace: &Trace, lock: &LockSections) -> u64 {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for set in &lock.sets {
        *counts.entry(trace.sections[set.section].record.site).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(site, n)| (n, site)).map_or(0, |(site, _)| site)
}

/// What was counted, by lock and site.
#[derive(Default)]
struct Totals {
    by_lock: FxHashMap<u64, Total>,
    /// By lock, then by site.
    by_site: FxHashMap<u64, FxHashMap<u64, u64>>,
    sections_of: FxHashMap<(u64, u64), Vec<usize>>,
    held_samples: u64,
    /// Locks of which not all acquisitions were counted one by one.
    estimated: FxHashSet<u64>,
}

#[derive(Clone, Copy, Default)]
struct Total {
    acquisitions: u64,
    contended: u64,
    waited: u64,
    held: u64,
    held_samples: u64,
}

impl Totals {
    fn of(trace: &Trace) -> Totals {
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

    /// A process that was killed has not written all that it counted: of its traced sections at
    /// least it is known how often they waited.
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

    /// The locks of which nothing was traced, in the order of their addresses.
    fn untraced(&self, sets: &Sets) -> Vec<UntracedLock> {
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

/// A lock of which nothing was traced.
pub struct UntracedLock {
    /// Its address.
    pub lock: u64,
    /// The call site that acquired it most.
    pub site: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Ticks that threads waited for it.
    pub waited: u64,
}

/// The locks of which nothing was traced, together.
fn together(untraced: &[UntracedLock], trace: &Trace) -> Untraced {
    let mut all = Untraced::default();
    for one in untraced {
        let waited = trace.seconds(one.waited);
        all.locks += 1;
        all.acquisitions = all.acquisitions.saturating_add(one.acquisitions);
        all.waited += waited;
        // Of equals the first address.
        if waited > all.longest.map_or(0.0, |(_, longest)| longest) {
            all.longest = Some((one.lock, waited));
        }
    }
    all
}

/// The locks of which not all acquisitions were counted one by one. A thread counts by call site,
/// whichever the lock is, and only where there is a budget.
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

/// All that the facts of one lock follow from.
struct All<'a> {
    trace: &'a Trace,
    sets: &'a Sets,
    totals: &'a Totals,
    shared: &'a SharedPlaces,
}

fn one(all: &All<'_>, family: &[&LockSections], options: &Options) -> LockFacts {
    let All { trace, sets, totals, shared } = *all;
    let timed = totals.held_samples > 0;
    let mut addresses: Vec<u64> = family.iter().map(|lock| lock.lock).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let of_lock = |l: &u64| totals.by_lock.get(l).copied().unwrap_or_default();
    let sum = |part: fn(&Total) -> u64| -> u64 {
        addresses.iter().map(|l| part(&of_lock(l))).fold(0, u64::saturating_add)
    };
    let sections: Vec<usize> = family
        .iter()
        .filter_map(|lock| totals.sections_of.get(&(lock.lock, lock.incarnation)))
        .flatten()
        .copied()
        .collect();
    let instructions: u64 = sections.iter().map(|&s| trace.sections[s].record.instructions).sum();
    let acquisitions = sum(|t| t.acquisitions).max(sections.len() as u64);
    let per_section = match (timed, sum(|t| t.held_samples)) {
        (true, 0) => 0.0,
        (true, samples) => sum(|t| t.held) as f64 / samples as f64,
        (false, _) => instructions as f64 / sections.len().max(1) as f64,
    };
    let ticks = trace.header.ticks_per_second.max(1) as f64;
    let weight = per_section * acquisitions as f64 / ticks;
    let compared = conflicts_of(trace, sets, family, options.window);
    let first: Vec<_> = compared.causes.first().map(|cause| cause.field).into_iter().collect();
    let set_of: FxHashMap<usize, &Set> =
        family.iter().flat_map(|lock| &lock.sets).map(|set| (set.section, set)).collect();
    let mut by_site: FxHashMap<u64, u64> = FxHashMap::default();
    for (&site, &n) in addresses.iter().filter_map(|lock| totals.by_site.get(lock)).flatten() {
        *by_site.entry(site).or_default() += n;
    }
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
        contended: sum(|t| t.contended),
        traced: sections.len() as u64,
        compared: set_of.len() as u64,
        threads: threads.len(),
        waited: sum(|t| t.waited) as f64 / ticks,
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

/// The block that a lock lies in, by its sections: they name the blocks that they touch, and the lock's.
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

/// Summed over the locks of a family: pieces under different locks are different pieces.
fn groups_of(sets: &Sets, family: &[&LockSections], without: &[crate::Field]) -> Groups {
    family.iter().map(|lock| groups(sets, lock, without)).fold(Groups::default(), |a, b| Groups {
        groups: a.groups + b.groups,
        met_again: a.met_again + b.met_again,
        largest: a.largest.max(b.largest),
        sections: a.sections + b.sections,
        places: a.places + b.places,
    })
}

fn overall(
    trace: &Trace,
    locks: &[LockFacts],
    options: &Options,
    by_instructions: bool,
) -> Overall {
    let known = || {
        locks
            .iter()
            .filter_map(|lock| Some((lock.independence()?, lock.window.uncertainty(), lock.weight)))
    };
    let weight: f64 = known().map(|(.., weight)| weight).sum();
    let mean = || known().map(|(independence, _, weight)| independence * weight).sum::<f64>();
    let independence = (weight > 0.0).then(|| mean() / weight);
    // Of locks that were sampled each by itself, variances add up.
    let variance = known().map(|(_, uncertainty, weight)| (uncertainty * weight).powi(2));
    let uncertainty = if weight > 0.0 { variance.sum::<f64>().sqrt() / weight } else { 1.0 };
    let ended = trace.ended();
    let lived = |t: &syncline_trace::Thread| {
        let end = if t.record.ended == 0 { ended } else { t.record.ended };
        end.saturating_sub(t.record.started)
    };
    Overall {
        independence,
        uncertainty,
        busy: independence.map(|i| busy(i, options.processors)),
        busy_of_15: independence.map(|i| busy(i, 15)),
        acquisitions: locks.iter().map(|lock| lock.acquisitions).sum(),
        estimated: locks.iter().any(|lock| lock.estimated),
        cut_short: trace.header.ended == 0,
        traced: locks.iter().map(|lock| lock.traced).sum(),
        untraced: Untraced::default(),
        by_instructions,
        thread_seconds: trace.threads.iter().map(|t| trace.seconds(lived(t))).sum(),
        cost: trace.seconds(trace.header.cost_ticks),
    }
}
