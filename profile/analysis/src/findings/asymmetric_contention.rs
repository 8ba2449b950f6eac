//! Asymmetric contention: some locks of a kind are contended far more than the others (SyncPerf,
//! section 2.1.4). A hash that puts most keys into few buckets makes few of the buckets' locks hot;
//! the data is split, but not evenly.
//!
//! Locks are of one kind if they are taken at the same call sites, were created by the same calls,
//! and lie at equal distances from each other, as those of an array do. A common line of creation
//! is not enough: it may create locks for many owners, such as the tables of one class, each with a
//! purpose of its own. SyncPerf compares the highest rate with the lowest, but among thousands of
//! locks two always differ at random. So here all hot locks together must stand out from the
//! median, and their waits must be significant.

use std::collections::{BTreeMap, BTreeSet};

use syncline_recording::Class;
use syncline_statistics::median;

use crate::findings::evidence::{count, seconds, share};
use crate::findings::family::{
    FEWEST_TAKEN, Family, WAITED_FLOOR, descending, few, share_of_run, wanted_at_once,
};
use crate::model::{Finding, Process, Remedy, Rule};
use crate::options::Thresholds;

/// A kind has at least this many locks.
const FEWEST_LOCKS: usize = 4;
/// A hot lock's acquisitions and contention must be at least this many times the median. The factor
/// is SyncPerf's, which compares with the lowest, not with the median.
const TIMES: f64 = 2.0;
/// At most this share of the locks may be hot. If more are hot, there are simply too few locks.
const FEW: f64 = 0.25;
/// A hot lock has high contention, or on average more than this many threads would be in its
/// sections at once if the lock did not exclude them. (If few threads run at a time, few find a
/// lock taken, so contention alone does not show such a lock.)
const AT_ONCE: f64 = 0.3;
/// Locks count as elements of an array if at least this share of the distances between neighbours
/// are multiples of one distance. Some elements may be unused.
const IN_STEP: f64 = 0.8;
/// Heap blocks lie at multiples of this many bytes.
const ALIGNMENT: u64 = 16;
/// The hot locks must have at least this share of the waiting for all locks of their kind.
const MOST_WAITING: f64 = 0.8;

/// The findings about kinds of locks of which a few are hot.
pub fn find(process: &Process, thresholds: &Thresholds) -> Vec<Finding> {
    let kinds = Family::all(process).into_iter().flat_map(|family| kinds(process, &family.locks));
    kinds.filter_map(|locks| Kind::of(process, locks, thresholds)).map(Kind::finding).collect()
}

/// The locks of a family, grouped by primitive and by the calls that created them. Groups whose
/// locks are not in an array are left out.
fn kinds(process: &Process, locks: &[usize]) -> Vec<Vec<usize>> {
    let mut kinds: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for &number in locks {
        let lock = &process.locks[number];
        let creator = lock.created_at.map(|stack| process.calls_of(stack));
        kinds.entry((lock.primitive, creator)).or_default().push(number);
    }
    kinds.into_values().filter(|locks| are_in_an_array(process, locks)).collect()
}

/// Whether locks lie at equal distances from each other, apart from unused elements of an array:
/// most distances are multiples of one distance.
fn are_in_an_array(process: &Process, locks: &[usize]) -> bool {
    let mut addresses: Vec<u64> = locks.iter().map(|&lock| process.locks[lock].address).collect();
    addresses.sort_unstable();
    let distances: Vec<u64> = addresses.windows(2).map(|two| two[1] - two[0]).collect();
    let steps: BTreeSet<u64> = distances.iter().copied().filter(|&step| step > 0).collect();
    steps.into_iter().any(|step| {
        let is_in_step = |&&distance: &&u64| {
            distance == step || step > ALIGNMENT && distance.is_multiple_of(step)
        };
        let in_step = distances.iter().filter(is_in_step).count();
        in_step as f64 >= IN_STEP * distances.len() as f64
    })
}

/// How many locks were created by the calls that created these; 0 if no creation was recorded.
fn created(process: &Process, locks: &[usize]) -> usize {
    let first = &process.locks[locks[0]];
    let Some(creator) = first.created_at.map(|stack| process.calls_of(stack)) else {
        return 0;
    };
    let creations = process
        .sites
        .iter()
        .filter(|site| site.op.class() == Class::Create && site.op.primitive() == first.primitive);
    let ways = creations.flat_map(|site| site.stacks.iter().zip(&site.ways));
    let same = ways.filter(|&(&stack, _)| process.calls_of(stack) == creator);
    same.map(|(_, way)| way.calls as usize).sum()
}

struct Kind<'a> {
    process: &'a Process,
    /// The hot locks, those with most waiting first.
    hot: Vec<usize>,
    locks: usize,
    /// How many of `locks` were created and hardly ever taken.
    unused: usize,
    /// Fewest and most acquisitions of a lock, and the median.
    calls: (u64, u64, u64),
    median_contention: f64,
    hot_contention: f64,
    hot_waited: f64,
    /// The effective number of locks: 1 if one lock has all acquisitions, and the number of locks
    /// if all have equally many.
    effective: f64,
}

impl<'a> Kind<'a> {
    fn of(process: &'a Process, locks: Vec<usize>, thresholds: &Thresholds) -> Option<Kind<'a>> {
        let figures = |lock: usize| &process.locks[lock].figures;
        // A lock that was hardly ever taken may have been taken only while its object was created.
        let is_used = |lock: usize| figures(lock).calls >= FEWEST_TAKEN;
        let locks: Vec<usize> = locks.into_iter().filter(|&lock| is_used(lock)).collect();
        if locks.len() < FEWEST_LOCKS {
            return None;
        }
        let unused = created(process, &locks).saturating_sub(locks.len());
        let never = || std::iter::repeat_n(0.0, unused);
        let calls: Vec<f64> =
            locks.iter().map(|&n| figures(n).calls as f64).chain(never()).collect();
        let contention: Vec<f64> =
            locks.iter().map(|&n| figures(n).contention).chain(never()).collect();
        let (median_calls, median_contention) = (median(&calls)?, median(&contention)?);
        let all = locks.len() + unused;
        let is_hot = |&lock: &usize| {
            figures(lock).calls as f64 >= TIMES * median_calls
                && figures(lock).contention >= TIMES * median_contention
                && (figures(lock).contention > thresholds.contention
                    || wanted_at_once(process, &process.locks[lock]) > AT_ONCE)
        };
        let mut hot: Vec<usize> = locks.iter().copied().filter(is_hot).collect();
        hot.sort_by(|&a, &b| descending(figures(a).waited, figures(b).waited));
        let sum = |locks: &[usize], value: fn(&crate::model::Figures) -> f64| {
            locks.iter().map(|&lock| value(figures(lock))).sum::<f64>()
        };
        let taken = sum(&hot, |f| (f.waits + f.refused) as f64);
        let wanted = sum(&hot, |f| (f.calls + f.timeouts + f.refused) as f64);
        let hot_waited = sum(&hot, |f| f.waited);
        let calls = sum(&locks, |f| f.calls as f64);
        let squares = sum(&locks, |f| (f.calls as f64).powi(2));
        let all_calls = || locks.iter().map(|&lock| figures(lock).calls);
        let applies = !hot.is_empty()
            && hot.len() as f64 <= FEW * all as f64
            && taken >= FEWEST_TAKEN as f64
            && share_of_run(process, hot_waited) >= WAITED_FLOOR
            && hot_waited >= MOST_WAITING * sum(&locks, |f| f.waited);
        applies.then(|| Kind {
            process,
            hot,
            locks: all,
            unused,
            calls: (
                if unused > 0 { 0 } else { all_calls().min().unwrap_or(0) },
                all_calls().max().unwrap_or(0),
                median_calls as u64,
            ),
            median_contention,
            hot_contention: (taken / wanted.max(1.0)).min(1.0),
            hot_waited,
            effective: calls.powi(2) / squares,
        })
    }

    fn finding(self) -> Finding {
        let Kind { process, calls: (fewest, most, median), .. } = self;
        let waits = |site: usize| {
            let uses = self.hot.iter().flat_map(|&lock| &process.locks[lock].sites);
            uses.filter(|use_| use_.site == site).map(|use_| use_.waited).sum::<f64>()
        };
        let uses = self.hot.iter().flat_map(|&lock| &process.locks[lock].sites);
        let mut sites: Vec<usize> = uses.map(|use_| use_.site).collect();
        sites.sort_unstable();
        sites.dedup();
        sites.sort_by(|&a, &b| descending(waits(a), waits(b)));
        Finding {
            rule: Rule::AsymmetricContention,
            title: "A few locks of a kind have most of the contention".to_owned(),
            place: process.sites[sites[0]].place.clone(),
            locks: few(&self.hot),
            evidence: vec![
                count("locks of this kind", self.locks as u64),
                count("locks of this kind that are hardly ever taken", self.unused as u64),
                count("hot locks", self.hot.len() as u64),
                count("acquisitions of the least used lock", fewest),
                count("acquisitions of the median lock", median),
                count("acquisitions of the most used lock", most),
                share("contention of the hot locks", self.hot_contention),
                share("contention of the median lock", self.median_contention),
                seconds("time waited for the hot locks", self.hot_waited),
            ],
            advice: "Spread what the locks protect evenly over them: look at what decides which \
                     one is taken, such as a hash that uses too few bits of its key. More locks \
                     of the kind would not help."
                .to_owned(),
            open_question: None,
            remedy: Remedy::SplitLock {
                sites: sites.clone(),
                // The probability that two threads meet at a lock is the sum of the squares of the
                // locks' shares of acquisitions.
                parts: (self.locks as f64 / self.effective).max(1.0),
            },
            sites,
            gain: None,
        }
    }
}

#[cfg(test)]
mod tests;
