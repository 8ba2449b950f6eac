//! Finds out whether enough sections were traced of the locks for which threads waited most. If
//! not, estimates how long the run, or how large the budget, would have to be.
//!
//! Both estimates assume proportions: a run twice as long has twice the budget and twice the
//! acquisitions. That would be wrong for a lock with hardly any traced section, since the first
//! sections cost most. For such a lock the estimate uses a typical cost of a section. The estimate
//! also accounts for how the tracer spends the budget (`syncline-tracer`, `process/budget.rs`):
//! half of what remains after counting is spent on sections, and at least an eighth of the budget
//! counts as remaining.

use rustc_hash::FxHashMap;
use syncline_trace::Trace;

use crate::lock::LockFacts;
use crate::totals::UntracedLock;

/// This many sections of a lock are enough. The share of conflicting pairs is then known to within
/// 10 percentage points ([`Comparison::uncertainty`](crate::Comparison::uncertainty)).
pub const ENOUGH: u64 = 200;
/// Only this many locks are considered, those with the longest total waits. Locks that are acquired
/// at one call site count as one.
const MOST_WAITED: usize = 3;
/// A lock only matters if threads waited for it for more than this share of their time.
const WORTH_TRACING: f64 = 1e-3;
/// The share of the budget that is always left for tracing, however much counting costs.
const LEAST: f64 = 1.0 / 8.0;
/// The share of the budget remaining after counting that is spent on sections.
const SPENT: f64 = 0.5;
/// If fewer sections than this were traced, they give no good estimate of the cost of one.
const FEW: u64 = 16;
/// In that case, a section is assumed to take this many seconds of the budget. That is the cost of
/// a few hundred instructions, times four because other threads sleep meanwhile.
const COST: f64 = 100e-6;

/// A lock for which threads waited long, but of which too few sections were traced, or several such
/// locks that are acquired at one call site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scarce {
    /// The lock's address; if there are several, that of one of them.
    pub lock: u64,
    /// The number of locks.
    pub locks: u64,
    /// The return address of the call site with the most acquisitions.
    pub site: u64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// How many of those acquisitions were traced.
    pub traced: u64,
    /// How many seconds threads waited.
    pub waited: f64,
}

/// A run in which too few sections were traced.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The length of the run in seconds.
    pub seconds: f64,
    /// The time, in seconds, of which the budget is a share: the program's own processor time, or
    /// the length of the run if that is less.
    pub processor: f64,
    /// The budget, as a share of `processor`; `None` if there was none, so that every section was
    /// traced.
    pub budget: Option<f64>,
    /// The cost of counting, as a share of `processor`.
    pub counting: f64,
}

impl Run {
    /// The share of `processor` that a budget leaves for sections after counting.
    fn for_sections(&self, budget: f64) -> f64 {
        (budget - self.counting).max(budget * LEAST)
    }
}

impl Scarce {
    /// The factor by which the budget for sections would have to be larger for enough sections.
    fn times(&self, run: &Run) -> f64 {
        let proportion = ENOUGH as f64 / self.traced.max(1) as f64;
        let Some(budget) = run.budget.filter(|_| self.traced < FEW) else { return proportion };
        let spent = SPENT * run.for_sections(budget) * run.processor;
        (ENOUGH as f64 * COST / spent.max(f64::MIN_POSITIVE)).max(1.0)
    }

    /// About how many seconds a run would have to take for enough sections within the same budget.
    pub fn seconds(&self, run: &Run) -> f64 {
        let acquired = ENOUGH as f64 / self.acquisitions.max(1) as f64;
        self.times(run).max(acquired) * run.seconds
    }

    /// About how large the budget would have to be, as a share, for enough sections in a run like
    /// this one. `None` if the run has no budget, or too few acquisitions for any budget.
    pub fn budget(&self, run: &Run) -> Option<f64> {
        let budget = run.budget.filter(|_| self.acquisitions >= ENOUGH)?;
        Some(run.counting + self.times(run) * run.for_sections(budget))
    }
}

/// The locks with too few traced sections among the three locks with the longest total waits, the
/// longest wait first. If only some locks were selected for tracing, only these are considered.
pub fn scarce(
    trace: &Trace,
    locks: &[LockFacts],
    untraced: &[UntracedLock],
    thread_seconds: f64,
) -> Vec<Scarce> {
    let mut all: Vec<Scarce> = Vec::new();
    // Locks whose call site is unknown (0) are not grouped.
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
        // If other locks of this call site were traced, the lock belongs to their entry. Otherwise
        // the call site gets an entry of its own.
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
