//! Whether enough sections were traced of the locks that are waited for most; and if not, how long
//! the run would have to be, or how large the budget.
//!
//! Both are proportions: a run twice as long has twice the budget and twice the acquisitions. For a
//! lock with hardly any traced section that is inexact, since the first sections cost most; for
//! such a lock the cost of sections of other locks is used. Half of the budget that remains after
//! counting is spent on sections, but at least an eighth of the budget remains (`syncline-tracer`,
//! `process/budget.rs`).

use rustc_hash::FxHashMap;
use syncline_trace::Trace;

use crate::lock::LockFacts;
use crate::totals::UntracedLock;

/// The number of sections of a lock that is enough: a share of pairs is then known to 10 %
/// (`Comparison`).
pub const ENOUGH: u64 = 200;
/// The number of locks, or kinds of locks, with most waiting that are considered.
const MOST_WAITED: usize = 3;
/// A lock with less waiting than this share of the threads' time does not matter.
const WORTH_TRACING: f64 = 1e-3;
/// The least share of the budget that counting leaves.
const LEAST: f64 = 1.0 / 8.0;
/// The part of that which is spent on sections.
const SPENT: f64 = 0.5;
/// Fewer sections than this give no good estimate of what one costs.
const FEW: u64 = 16;
/// Seconds of the budget that a section takes then: some hundred instructions, in which others sleep, which
/// counts four times.
const COST: f64 = 100e-6;

/// A lock with much waiting, or several that are acquired at one call site, of which too few
/// sections were traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scarce {
    /// The lock's address; if there are several, that of one of them.
    pub lock: u64,
    /// How many locks these are.
    pub locks: u64,
    /// Return address of the call that acquires most often.
    pub site: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// How many of those were traced.
    pub traced: u64,
    /// Seconds that threads waited.
    pub waited: f64,
}

/// The run that should have had more sections.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Its seconds.
    pub seconds: f64,
    /// The seconds of which the budget is a part: the program's own processor time, or the length
    /// of the run if that is less.
    pub processor: f64,
    /// The budget, as a share; `None` if every section was traced.
    pub budget: Option<f64>,
    /// The cost of counting, as a share of these.
    pub counting: f64,
}

impl Run {
    /// The share of a budget that is left for sections.
    fn for_sections(&self, budget: f64) -> f64 {
        (budget - self.counting).max(budget * LEAST)
    }
}

impl Scarce {
    /// By which factor the budget would have to grow for enough sections.
    fn times(&self, run: &Run) -> f64 {
        let proportion = ENOUGH as f64 / self.traced.max(1) as f64;
        let Some(budget) = run.budget.filter(|_| self.traced < FEW) else { return proportion };
        let spent = SPENT * run.for_sections(budget) * run.processor;
        (ENOUGH as f64 * COST / spent.max(f64::MIN_POSITIVE)).max(1.0)
    }

    /// About how many seconds a run has to take to have enough sections within the same budget.
    pub fn seconds(&self, run: &Run) -> f64 {
        let acquired = ENOUGH as f64 / self.acquisitions.max(1) as f64;
        self.times(run).max(acquired) * run.seconds
    }

    /// The approximate budget, as a share, that would suffice for a run like this one; `None` if it
    /// has no budget, or too few acquisitions for any.
    pub fn budget(&self, run: &Run) -> Option<f64> {
        let budget = run.budget.filter(|_| self.acquisitions >= ENOUGH)?;
        Some(run.counting + self.times(run) * run.for_sections(budget))
    }
}

/// Those of the three locks with most waiting that have too few sections, most waiting first. If
/// only some locks were selected for tracing, those of the selected locks.
pub fn scarce(
    trace: &Trace,
    locks: &[LockFacts],
    untraced: &[UntracedLock],
    thread_seconds: f64,
) -> Vec<Scarce> {
    let mut all: Vec<Scarce> = Vec::new();
    let mut at: FxHashMap<u64, usize> = FxHashMap::default();
    for lock in locks {
        for site in &lock.sites {
            at.entry(site.site).or_insert(all.len());
        }
        all.push(Scarce {
            lock: lock.lock,
            locks: lock.locks as u64,
            site: lock.sites.first().map_or(0, |site| site.site),
            acquisitions: lock.acquisitions,
            traced: lock.traced,
            waited: lock.waited,
        });
    }
    let only_some = trace.header.only_some != 0;
    for &UntracedLock { lock, site, acquisitions, waited } in untraced {
        // One of a kind of which others were traced, or of a kind of its own.
        let place = match at.get(&site) {
            Some(&place) => place,
            None if only_some => continue,
            None => {
                at.insert(site, all.len());
                all.push(Scarce { lock, locks: 0, site, acquisitions: 0, traced: 0, waited: 0.0 });
                all.len() - 1
            }
        };
        let kind = &mut all[place];
        kind.locks += 1;
        kind.acquisitions = kind.acquisitions.saturating_add(acquisitions);
        kind.waited += trace.seconds(waited);
    }
    all.sort_by(|a, b| b.waited.total_cmp(&a.waited).then(a.lock.cmp(&b.lock)));
    all.truncate(MOST_WAITED);
    all.retain(|one| one.traced < ENOUGH && one.waited > WORTH_TRACING * thread_seconds);
    all
}
