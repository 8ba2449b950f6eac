//! Whether enough sections were traced of the locks with the most waiting. If not, it estimates how
//! long the run, or how large the budget, would have to be.
//!
//! Both estimates are proportional: a run twice as long has twice the budget and twice the
//! acquisitions. That is inexact for a lock with hardly any traced section, since the first
//! sections cost most; for such a lock a typical cost of a section is used. Half of the budget that
//! remains after counting is spent on sections; at least an eighth of the budget counts as
//! remaining (`syncline-tracer`, `process/budget.rs`).

use rustc_hash::FxHashMap;
use syncline_trace::Trace;

use crate::lock::LockFacts;
use crate::totals::UntracedLock;

/// The number of sections of a lock that is enough: the share of pairs is then known to within 10 %
/// (`Comparison`).
pub const ENOUGH: u64 = 200;
/// How many locks are considered, those with the most waiting. Locks that are acquired at one call
/// site count as one.
const MOST_WAITED: usize = 3;
/// A lock with less waiting than this share of the threads' time does not matter.
const WORTH_TRACING: f64 = 1e-3;
/// The least share of the budget that counting leaves.
const LEAST: f64 = 1.0 / 8.0;
/// The share of the remaining budget that is spent on sections.
const SPENT: f64 = 0.5;
/// Fewer sections than this give no good estimate of the cost of one.
const FEW: u64 = 16;
/// The seconds of the budget that a section is assumed to take in that case: some hundred instructions,
/// during which other threads sleep, so that they count four times.
const COST: f64 = 100e-6;

/// A lock with much waiting of which too few sections were traced; or several such locks that are
/// acquired at one call site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scarce {
    /// The lock's address; if there are several, that of one of them.
    pub lock: u64,
    /// How many locks these are.
    pub locks: u64,
    /// The return address of the call that acquires most often.
    pub site: u64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// How many of those acquisitions were traced.
    pub traced: u64,
    /// Seconds that threads waited.
    pub waited: f64,
}

/// A run in which too few sections were traced.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The length of the run in seconds.
    pub seconds: f64,
    /// The seconds that the budget is a share of: the program's own processor time, or the length
    /// of the run if that is less.
    pub processor: f64,
    /// The budget, as a share; `None` if every section was traced.
    pub budget: Option<f64>,
    /// The cost of counting, as a share of `processor`.
    pub counting: f64,
}

impl Run {
    /// The share of a budget that is left for sections.
    fn for_sections(&self, budget: f64) -> f64 {
        (budget - self.counting).max(budget * LEAST)
    }
}

impl Scarce {
    /// The factor by which the budget for sections would have to grow for enough sections.
    fn times(&self, run: &Run) -> f64 {
        let proportion = ENOUGH as f64 / self.traced.max(1) as f64;
        let Some(budget) = run.budget.filter(|_| self.traced < FEW) else { return proportion };
        let spent = SPENT * run.for_sections(budget) * run.processor;
        (ENOUGH as f64 * COST / spent.max(f64::MIN_POSITIVE)).max(1.0)
    }

    /// The approximate length in seconds of a run that has enough sections within the same budget.
    pub fn seconds(&self, run: &Run) -> f64 {
        let acquired = ENOUGH as f64 / self.acquisitions.max(1) as f64;
        self.times(run).max(acquired) * run.seconds
    }

    /// The approximate budget, as a share, that would suffice for a run like this one; `None` if
    /// the run has no budget, or too few acquisitions for any budget.
    pub fn budget(&self, run: &Run) -> Option<f64> {
        let budget = run.budget.filter(|_| self.acquisitions >= ENOUGH)?;
        Some(run.counting + self.times(run) * run.for_sections(budget))
    }
}

/// Of the three locks with the most waiting, those with too few sections, the one with the most
/// waiting first. If only some locks were selected for tracing, only these are considered.
pub fn scarce(
    trace: &Trace,
    locks: &[LockFacts],
    untraced: &[UntracedLock],
    thread_seconds: f64,
) -> Vec<Scarce> {
    let mut all: Vec<Scarce> = Vec::new();
    // Locks whose call site is unknown (0) have nothing in common.
    let mut at: FxHashMap<u64, usize> = FxHashMap::default();
    for lock in locks {
        for site in lock.sites.iter().filter(|site| site.site != 0) {
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
        // Other locks of this call site may have been traced; otherwise the call site gets an entry
        // of its own.
        let place = match at.get(&site) {
            Some(&place) => place,
            None if only_some => continue,
            None => {
                if site != 0 {
                    at.insert(site, all.len());
                }
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
