//! The facts about all locks of a trace, with addresses but without names.

use std::collections::BTreeMap;

use syncline_trace::Trace;

use crate::enough::{Scarce, scarce};
use crate::lock::{All, LockFacts, lock_facts};
use crate::section::SharedWords;
use crate::sets::{LockSections, Sets};
use crate::totals::{Totals, UntracedLock};

/// How sections are compared.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// With how many earlier sections of its lock each section is compared.
    pub window: usize,
    /// The number of processors that the program could use.
    pub processors: usize,
}

impl Options {
    /// The window in the paper on Syncchar. According to it, the results for most locks change by
    /// less than 5 % from a window of 50 to one of 100 sections, and its authors expected no
    /// computers with more processors than this (section 3).
    pub const WINDOW: usize = 128;
}

/// The facts about all locks together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overall {
    /// The mean of the locks' independence, weighted by [`LockFacts::weight`]. `None` if no pair
    /// was compared, or only pairs of locks with weight 0.
    pub independence: Option<f64>,
    /// Its uncertainty from sampling, as in
    /// [`Comparison::uncertainty`](crate::Comparison::uncertainty); 1 if `independence` is `None`.
    pub uncertainty: f64,
    /// How many of the machine's processors could be kept busy if sections ran optimistically, with
    /// that independence; `None` if `independence` is `None`.
    pub busy: Option<f64>,
    /// How many of the 15 processors of Syncchar's machine could be kept busy in this way.
    pub busy_of_15: Option<f64>,
    /// The number of acquisitions of the locks that were traced.
    pub acquisitions: u64,
    /// Whether the number of acquisitions is partly an estimate.
    pub estimated: bool,
    /// Whether the process could not write its last counts, because it was killed or still runs. In
    /// that case the numbers of acquisitions, and of those that waited, are lower bounds.
    pub cut_short: bool,
    /// The number of sections that were traced.
    pub traced: u64,
    /// The locks of which no section was traced.
    pub untraced: Untraced,
    /// Whether locks are weighted by instructions and not by time, because no hold was timed.
    pub by_instructions: bool,
    /// The seconds that all threads ran, added up.
    pub thread_seconds: f64,
    /// The seconds that tracing cost in all threads.
    pub cost: f64,
}

/// The locks of which no section was traced, because none was drawn or they were not selected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Untraced {
    /// The number of such locks.
    pub locks: u64,
    /// The number of their acquisitions.
    pub acquisitions: u64,
    /// How many seconds threads waited for them in all.
    pub waited: f64,
    /// The lock with the longest total wait, and how long that is in seconds; `None` if no thread
    /// waited for any of them.
    pub longest: Option<(u64, f64)>,
}

/// All facts of a trace.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The locks that were traced, those with the largest [`LockFacts::weight`] first.
    pub locks: Vec<LockFacts>,
    /// The facts about all locks together.
    pub overall: Overall,
    /// Locks for which threads waited long but of which too few sections were traced.
    pub scarce: Vec<Scarce>,
}

/// How many of the processors are kept busy if this share of pairs is independent and independent
/// sections run at the same time. The paper on Syncchar gives 4 for 24.1 % on 15 processors
/// (section 4.2), but no formula. The formula used here gives 4.4, and is right if all pairs are
/// independent or none is.
pub fn busy(independence: f64, processors: usize) -> f64 {
    1.0 + independence * (processors.max(1) - 1) as f64
}

/// Computes the facts of a trace.
pub fn facts(trace: &Trace, options: &Options) -> Facts {
    facts_with(trace, options, &mut |_, _| {})
}

/// Like [`facts`], but also calls `progress` after each step, with the number of steps done and of
/// all steps. There are two steps for each section: to make its address set, and to compare it.
pub fn facts_with(
    trace: &Trace,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Facts {
    facts_by(trace, options, &|_| None, progress)
}

/// Like [`facts_with`], but the caller decides which locks belong together: `family` returns the
/// same number for them. If it returns `None`, the lock belongs together with the other locks of
/// its main call site. That is the call site with most of the lock's sections that can be compared,
/// or with most of all its sections if none can. If the main call site is unknown, the lock stays
/// alone.
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
    let mut families: BTreeMap<Family, Vec<&LockSections>> = BTreeMap::new();
    for lock in &sets.locks {
        let compared = lock.sets.iter().map(|set| set.section);
        let traced = totals.sections_of.get(&(lock.lock, lock.incarnation)).into_iter().flatten();
        let site = || main_site(trace, compared).or_else(|| main_site(trace, traced.copied()));
        let by_site = || site().map_or(Family::Lock(lock.lock), Family::Site);
        let family = family(lock.lock).map_or_else(by_site, Family::Given);
        families.entry(family).or_default().push(lock);
    }
    let shared = SharedWords::of(&sets);
    let all_of = All { trace, sets: &sets, totals: &totals, shared: &shared };
    let families: Vec<Vec<&LockSections>> = families.into_values().collect();
    let counts = totals.of_families(trace, &families);
    let mut locks: Vec<LockFacts> = families
        .iter()
        .zip(&counts)
        .map(|(family, counts)| {
            let lock = lock_facts(&all_of, family, counts, options.window);
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

/// The property that the locks of a family have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    /// The number that the caller's function `family` returns for them.
    Given(u64),
    /// The call site of most of their sections.
    Site(u64),
    /// Nothing; the family is the one lock at this address.
    Lock(u64),
}

/// The call site of most of these sections; `None` if there are no sections, or that call site is
/// unknown.
fn main_site(trace: &Trace, sections: impl Iterator<Item = usize>) -> Option<u64> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for section in sections {
        *counts.entry(trace.sections[section].record.site).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|&(site, n)| (n, site));
    most.map(|(site, _)| site).filter(|&site| site != 0)
}

/// Adds up the locks of which nothing was traced.
fn together(untraced: &[UntracedLock], trace: &Trace) -> Untraced {
    let mut all = Untraced::default();
    for one in untraced {
        let waited = trace.seconds(one.waited);
        all.locks += 1;
        all.acquisitions = all.acquisitions.saturating_add(one.acquisitions);
        all.waited += waited;
        // Of locks with equal waits, the first one is kept, which has the lowest address.
        if waited > all.longest.map_or(0.0, |(_, longest)| longest) {
            all.longest = Some((one.lock, waited));
        }
    }
    all
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
    // The locks' samples are independent of each other, so the variances add up.
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
