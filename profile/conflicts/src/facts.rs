//! Everything that a trace says of its locks, by address.

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
    /// The number of earlier sections of its lock with which each section is compared.
    pub window: usize,
    /// Processors that the program could use.
    pub processors: usize,
}

impl Options {
    /// Syncchar's window: its results change by less than 5 % from 50 to 100 sections for most
    /// locks, and the authors expected no more processors than this (section 3).
    pub const WINDOW: usize = 128;
}

/// What is known of all locks together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overall {
    /// The mean independence, weighted by the time that the locks were held; `None` if no pair was
    /// compared.
    pub independence: Option<f64>,
    /// Its uncertainty from sampling, as in
    /// [`Comparison::uncertainty`](crate::Comparison::uncertainty); 1 if no pair was compared.
    pub uncertainty: f64,
    /// How many of the machine's processors optimistic sections with that independence could keep
    /// busy.
    pub busy: Option<f64>,
    /// Processors that they could keep busy of the 15 of Syncchar's machine.
    pub busy_of_15: Option<f64>,
    /// Acquisitions of the locks that were traced.
    pub acquisitions: u64,
    /// Whether a part of them is an estimate.
    pub estimated: bool,
    /// Whether the process could not write its last counts: it was killed, or still runs. Then
    /// acquisitions, and how many waited, are at least this many.
    pub cut_short: bool,
    /// Sections traced.
    pub traced: u64,
    /// The locks of which no section was traced.
    pub untraced: Untraced,
    /// Whether locks are weighted by instructions instead of time, since no untraced section was
    /// timed.
    pub by_instructions: bool,
    /// Seconds that the threads ran, together.
    pub thread_seconds: f64,
    /// Seconds that tracing cost, over all threads.
    pub cost: f64,
}

/// Locks of which no section was traced: the sample had none, or they were not selected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Untraced {
    /// How many locks.
    pub locks: u64,
    /// Their acquisitions.
    pub acquisitions: u64,
    /// Seconds that threads waited for them.
    pub waited: f64,
    /// The one with the longest total wait, and how long that is; `None` if none was.
    pub longest: Option<(u64, f64)>,
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The locks that were traced, those that were held longest first.
    pub locks: Vec<LockFacts>,
    /// All together.
    pub overall: Overall,
    /// Locks with much waiting of which too few sections were traced.
    pub scarce: Vec<Scarce>,
}

/// How many of this many processors a share of independent pairs keeps busy: sections that are
/// independent of one another run at the same time. Syncchar gives 24.1 % on 15 processors as 4
/// (section 4.2), and no formula; this one gives 4.4, and is right where all or nothing is
/// independent.
pub fn busy(independence: f64, processors: usize) -> f64 {
    1.0 + independence * (processors.max(1) - 1) as f64
}

/// Works out the facts of a trace.
pub fn facts(trace: &Trace, options: &Options) -> Facts {
    facts_with(trace, options, &mut |_, _| {})
}

/// Like [`facts`], but reports how many of the steps are done. A step is a section, once where its
/// set is made and once where it is compared.
pub fn facts_with(
    trace: &Trace,
    options: &Options,
    progress: &mut dyn FnMut(usize, usize),
) -> Facts {
    facts_by(trace, options, &|_| None, progress)
}

/// Like [`facts_with`], if it is known which locks belong together: `family` gives these the same
/// number. Locks without a number are identified by the call site that acquires them most.
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
    let shared = SharedWords::of(&sets);
    let all_of = All { trace, sets: &sets, totals: &totals, shared: &shared };
    let mut locks: Vec<LockFacts> = families
        .into_values()
        .map(|family| {
            let lock = lock_facts(&all_of, &family, options.window);
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

/// The locks of which nothing was traced, together.
fn together(untraced: &[UntracedLock], trace: &Trace) -> Untraced {
    let mut all = Untraced::default();
    for one in untraced {
        let waited = trace.seconds(one.waited);
        all.locks += 1;
        all.acquisitions = all.acquisitions.saturating_add(one.acquisitions);
        all.waited += waited;
        // Among equals, the one with the lowest address.
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
    // The variances of locks that were sampled separately add up.
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
