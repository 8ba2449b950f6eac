//! Locks that are only ever taken with another one held, which already excludes all threads that
//! they could exclude (SyncPerf, Table 1, row 10). Three shapes:
//!
//! ```text
//! always A, then B        B excludes no thread that A admits:         remove B
//! always A, then B1..Bn   A admits one thread, the B several:         remove A, or all the B
//! A1..An, then always B   B brings together what the A keep apart:    remove B
//! ```
//!
//! The third is MySQL's: threads with different locks all called random(), which has a lock inside.
//! In this shape, B is needed as long as its data is shared, so the rule requires that B is
//! contended.
//!
//! The locks that were held are known for the sampled acquisitions. These are each thread's first
//! at each call site, those that waited, and one in 128 of the others (fewer if they are frequent).
//! A thread that took A for reading does not exclude others, nor does one that took a semaphore, so
//! neither counts as holding A.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::Op;

use crate::findings::evidence::{count, rate, seconds, share};
use crate::findings::family::{COST_FLOOR, FEWEST_TAKEN, Family, PAIR, SHARED_PAIR, WAITED_FLOOR};
use crate::model::{Finding, Nesting, Outer, Process, Remedy, Rule};
use crate::options::Thresholds;

/// A lock counts as always taken under another one if the other one was held in this share of the
/// lock's sampled acquisitions.
const ALWAYS: f64 = 0.99;
/// With fewer sampled acquisitions of a family's locks, the rule concludes nothing.
const FEWEST_SEEN: u64 = 10;

/// If the inner lock is taken more often than this for each acquisition of the outer locks, the
/// outer locks are held for whole phases of the run and say nothing about what the inner one is for.
const PHASE: u64 = 1_000;

/// A sample with the weight 1 stands for this many acquisitions that did not wait.
const SAMPLED: u64 = 128;

/// The findings about families whose locks are always taken under other locks.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    if process.nesting.is_empty() {
        return Vec::new();
    }
    let mut by_lock: BTreeMap<usize, Vec<&Nesting>> = BTreeMap::new();
    for nesting in &process.nesting {
        by_lock.entry(nesting.lock).or_default().push(nesting);
    }
    let mut found: Vec<Finding> = Vec::new();
    let mut under: BTreeMap<BTreeSet<u64>, usize> = BTreeMap::new();
    let families = Family::all(process);
    let many = |family: &&Family| family.calls_per_second() > thresholds.acquisitions_per_second;
    for family in families.iter().filter(many) {
        let inner = Inner::of(process, family, &by_lock);
        let Some(finding) = inner.under_one(thresholds).or_else(|| inner.under_many(thresholds))
        else {
            continue;
        };
        // Several kinds of locks that are taken under the same outer lock are one problem.
        match under.get(&inner.outers) {
            Some(&same) if found[same].title == finding.title => join(&mut found[same], finding),
            _ => {
                under.insert(inner.outers, found.len());
                found.push(finding);
            }
        }
    }
    found
}

/// Adds to a finding what was found about another kind of locks under the same outer lock.
fn join(finding: &mut Finding, other: Finding) {
    let Remedy::RemoveLock { sites, seconds_per_call } = &mut finding.remedy else { return };
    let Remedy::RemoveLock { sites: others, seconds_per_call: of_others } = other.remedy else {
        return;
    };
    sites.extend(others);
    *seconds_per_call = seconds_per_call.min(of_others);
    finding.sites.extend(other.sites);
    let taken = other.evidence.first().map_or(0.0, |acquisitions| acquisitions.value);
    finding.evidence.push(rate(&format!("acquisitions in {}", other.place), taken));
}

/// A family, and the locks that were held when one of its locks was taken.
struct Inner<'a> {
    process: &'a Process,
    family: &'a Family<'a>,
    /// The number of sampled acquisitions.
    seen: u64,
    /// The number of sampled acquisitions under the outer lock that is held most often for the
    /// acquired lock, summed over the locks of the family.
    under_its_own: u64,
    /// The number of sampled acquisitions under any outer lock.
    under_any: u64,
    /// The outer locks that are held most often: one for each lock of the family.
    outers: BTreeSet<u64>,
    /// All outer locks that were ever held.
    all_outers: BTreeSet<u64>,
    /// The call sites that take the outer locks.
    outer_sites: Vec<usize>,
}

impl<'a> Inner<'a> {
    fn of(
        process: &'a Process,
        family: &'a Family,
        by_lock: &BTreeMap<usize, Vec<&Nesting>>,
    ) -> Inner<'a> {
        let mut inner = Inner {
            process,
            family,
            seen: 0,
            under_its_own: 0,
            under_any: 0,
            outers: BTreeSet::new(),
            all_outers: BTreeSet::new(),
            outer_sites: Vec::new(),
        };
        for lock in &family.locks {
            let mut held: BTreeMap<u64, u64> = BTreeMap::new();
            for nesting in by_lock.get(lock).into_iter().flatten() {
                inner.seen += nesting.seen;
                let excluding = nesting.outer.as_ref().filter(|outer| excludes(process, outer));
                let Some(outer) = excluding else { continue };
                *held.entry(outer.address).or_default() += nesting.seen;
                inner.under_any += nesting.seen;
                inner.outer_sites.extend(outer.site);
            }
            if !by_lock.contains_key(lock) {
                // Nesting is recorded only for locks that were taken at least once with another
                // held.
                inner.seen += process.locks[*lock].figures.calls / SAMPLED;
            }
            inner.all_outers.extend(held.keys());
            let most = held.into_iter().max_by_key(|&(_, seen)| seen);
            inner.under_its_own += most.map_or(0, |(_, seen)| seen);
            inner.outers.extend(most.map(|(address, _)| address));
        }
        inner.outer_sites.sort_unstable();
        inner.outer_sites.dedup();
        inner
    }

    /// The acquisitions of all outer locks.
    fn outer_calls(&self) -> u64 {
        let locks = self.process.locks.iter();
        let outers = locks.filter(|lock| self.all_outers.contains(&lock.address));
        outers.map(|lock| lock.figures.calls).sum()
    }

    /// An upper bound of the seconds that an inner acquisition and its release take. The lock's cache
    /// line comes from another processor at most once for each acquisition of an outer lock.
    fn pair(&self) -> f64 {
        let moves = self.outer_calls() as f64 / self.family.calls().max(1) as f64;
        self.family.pair().min(PAIR + moves * (SHARED_PAIR - PAIR))
    }

    /// The cost of the calls without waits, as [`Family::cost`].
    fn cost(&self) -> f64 {
        self.family.calls_per_second() * self.pair()
    }

    fn share(&self, seen: u64) -> f64 {
        if self.seen < FEWEST_SEEN { 0.0 } else { seen as f64 / self.seen as f64 }
    }

    /// The finding if each inner lock is nearly always taken with one and the same outer lock held;
    /// `None` otherwise.
    fn under_one(&self, thresholds: &Thresholds) -> Option<Finding> {
        if self.share(self.under_its_own) < ALWAYS || self.cost() < COST_FLOOR {
            return None;
        }
        let outer = self.outers.first().copied();
        let common = self.process.locks.iter().find(|lock| Some(lock.address) == outer);
        let one_over_many = self.outers.len() == 1 && self.family.locks.len() > 1;
        let contended = common.filter(|common| {
            one_over_many
                && common.figures.contention > thresholds.contention
                && common.figures.waited / self.process.seconds >= WAITED_FLOOR
        });
        let sites = self.family.sites.clone();
        Some(match contended {
            Some(common) => self.finding(
                "Locks that another lock around all of them makes useless",
                format!(
                    "Remove {} if it protects only what the inner locks protect: it admits one \
                     thread where they would admit several. If it protects more, remove the \
                     inner locks.",
                    common.name
                ),
                Remedy::SplitLock {
                    sites: self.outer_sites.clone(),
                    parts: self.family.locks.len() as f64,
                },
            ),
            None => self.finding(
                "A lock that is only ever taken with another one held",
                "Remove the inner lock: each thread that gets here holds the outer one, which \
                 already excludes the others. If a rare path to here does not hold the outer \
                 lock, take it there."
                    .to_owned(),
                Remedy::RemoveLock {
                    sites,
                    seconds_per_call: self.family.likely_pair().min(self.pair()),
                },
            ),
        })
    }

    /// The finding if there are several outer locks and a contended inner lock; `None` otherwise.
    fn under_many(&self, thresholds: &Thresholds) -> Option<Finding> {
        let family = self.family;
        let applies = self.share(self.under_any) >= ALWAYS
            && self.all_outers.len() > 1
            && family.calls() <= PHASE * self.outer_calls()
            && family.contention() > thresholds.contention
            && family.found_taken() >= FEWEST_TAKEN
            && family.waited_share() >= WAITED_FLOOR;
        applies.then(|| {
            self.finding(
                "A lock inside sections of different locks makes them wait for each other",
                "Do without the inner lock: give each outer lock, or each thread, its own copy of \
                 what it protects, such as a random generator of its own."
                    .to_owned(),
                Remedy::RemoveLock {
                    sites: family.sites.clone(),
                    seconds_per_call: family.likely_pair(),
                },
            )
        })
    }

    fn finding(&self, title: &str, advice: String, remedy: Remedy) -> Finding {
        let Inner { process, family, .. } = self;
        let mut evidence = vec![
            rate("acquisitions", family.calls_per_second()),
            count("sampled acquisitions", self.seen),
            share("sampled acquisitions with another lock held", self.share(self.under_any)),
            share(
                "sampled acquisitions with always the same lock held",
                self.share(self.under_its_own),
            ),
            share("contention", family.contention()),
            seconds("time waited", family.waited()),
            share("time in the calls themselves (estimate)", self.cost()),
        ];
        let outer = self.outer_sites.first().map(|&site| &process.sites[site]);
        if let Some(outer) = outer {
            let what = format!("acquisitions of the outer lock in {}", outer.place);
            evidence.push(rate(&what, outer.figures.calls_per_second));
        }
        let mut locks = family.few_locks();
        locks.truncate(4);
        locks.extend(process.locks.iter().position(|lock| self.outers.contains(&lock.address)));
        Finding {
            rule: Rule::SerializedByOuter,
            title: title.to_owned(),
            place: family.main_site().place.clone(),
            sites: family.sites.clone(),
            locks,
            evidence,
            advice,
            open_question: None,
            remedy,
            gain: None,
        }
    }
}

/// Whether a thread that took the outer lock at its call site excludes others. False if it took the
/// lock to read, or took a semaphore.
fn excludes(process: &Process, outer: &Outer) -> bool {
    let Some(site) = outer.site else { return true };
    !matches!(
        process.sites[site].op,
        Op::RwlockRead
            | Op::RwlockTimedRead
            | Op::RwlockTryRead
            | Op::SemWait
            | Op::SemTrywait
            | Op::SemTimedwait
    )
}

#[cfg(test)]
mod tests;
