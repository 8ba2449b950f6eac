//! Advice for the user: what to do about a lock, and how much time that can save at most.
//!
//! The time saved is at most the time that threads waited for the lock during the run, or a part of
//! it, since no change of the lock can save more. Costs of the change are not subtracted.

use serde::Serialize;

use crate::lock::LockFacts;
use crate::section::SiteFacts;

/// Advice by data needs at least this many pairs of sections. (If none of 100 pairs conflicts, the
/// share of conflicts is probably under 3 %.)
const ENOUGH_PAIRS: u64 = 100;
/// Sections that were too long to be traced to their end can't be compared, but are certainly long.
/// This many of them are enough for the advice to shorten them.
const ENOUGH_CUT: u64 = 4;
/// If at least this share of pairs is independent, most of the waiting is needless.
const INDEPENDENT: f64 = 0.8;
/// It is worthwhile to split a field off if at least this share of pairs would be independent
/// without it.
const INDEPENDENT_WITHOUT: f64 = 0.5;
/// If a lock guards at least this many pieces of data, each should get a lock of its own. With
/// fewer, two threads would often need the same piece, and sections that need several pieces would
/// have to acquire more locks.
const MANY_PIECES: u64 = 8;
/// If a smaller share of sections than this writes data, the sections count as readers. Writes to
/// any data count, since a small sample doesn't show which data is shared.
const FEW_WRITERS: f64 = 0.1;
/// A call site's sections are long if the median of their instructions is at least this. (To
/// acquire and release a free lock takes about a tenth of that.)
const LONG: u64 = 500;
/// If at least this share of the instructions of all sections belongs to long sections and touches
/// no shared data, the long sections mostly do other work.
const UNRELATED: f64 = 0.9;

/// What to do about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Advice {
    /// No traced section touched anything that another thread touched.
    NothingShared,
    /// Sections write only with atomic instructions, so they don't need the lock for writing.
    AlreadyAtomic,
    /// No section touches more than one shared word, so one atomic operation could replace each.
    UseAtomic,
    /// The data consists of many independent pieces, each of which should get a lock of its own.
    Shard {
        /// The number of pieces that were seen.
        pieces: u64,
    },
    /// Most sections only read, so they should be able to hold the lock at the same time.
    LetReadersShare,
    /// Sections are mostly independent, but the data does not consist of many pieces. So sections
    /// should run at the same time and be repeated on a conflict.
    UseOptimistic,
    /// At least half of the conflicting pairs conflict on one field alone (the first of the
    /// causes), which should be split off.
    SplitField {
        /// The share of pairs that would be independent without the field.
        independence_without: f64,
        /// The number of independent pieces of data without this field.
        pieces_without: u64,
    },
    /// Most instructions of long sections touch nothing shared, and should be moved out of the
    /// section.
    Shorten {
        /// The share of instructions that touch nothing shared.
        share: f64,
    },
    /// No other advice fits: sections conflict on more than a single field, or they do input and
    /// output.
    Leave,
    /// Too little was traced to say anything.
    TooFewSections,
}

/// A piece of advice, and how much it can save.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Proposal {
    /// What to do.
    #[serde(flatten)]
    pub advice: Advice,
    /// The most seconds of waiting that the advice can save.
    pub saves_at_most: f64,
    /// These seconds as a share of the time that all threads ran.
    pub share_of_thread_time: f64,
    /// Whether sections do input or output. In that case even sections that touch different data
    /// may depend on their order, which memory does not show.
    pub io: bool,
}

/// The advice for a lock, the most useful first. `thread_seconds` is the sum of the times that the
/// threads ran.
pub fn advise(lock: &LockFacts, thread_seconds: f64) -> Vec<Proposal> {
    let io = lock.sites.iter().any(|site| site.doing_io > 0);
    let proposal = |advice, share: f64| {
        let saves = lock.waited * share.clamp(0.0, 1.0);
        let of_all = if thread_seconds > 0.0 { (saves / thread_seconds).min(1.0) } else { 0.0 };
        Proposal { advice, saves_at_most: saves, share_of_thread_time: of_all, io }
    };
    let Some(independence) = lock.independence().filter(|_| lock.window.pairs >= ENOUGH_PAIRS)
    else {
        // To know that sections are long, fewer of them are enough.
        let cut: u64 = lock.sites.iter().map(|site| site.cut).sum();
        let share = unrelated(lock).filter(|_| cut >= ENOUGH_CUT && lock.threads > 1);
        let shorten = share.map(|share| proposal(Advice::Shorten { share }, share));
        let too_few = proposal(Advice::TooFewSections, 0.0);
        return shorten.into_iter().chain([too_few]).collect();
    };
    // The share of waiting that was needless. This is the share of independent pairs, among the
    // pairs in which one section waited for the other if there are enough of these, otherwise among
    // all pairs.
    let needless = match lock.waited_for.pairs >= ENOUGH_PAIRS {
        true => 1.0 - lock.waited_for.share(),
        false => independence,
    };
    let mut proposals = Vec::new();
    if let Some(advice) = by_data(lock, independence) {
        let share = match advice {
            Advice::NothingShared | Advice::AlreadyAtomic | Advice::UseAtomic => 1.0,
            Advice::SplitField { independence_without, .. } => independence_without,
            _ => needless,
        };
        proposals.push(proposal(advice, share));
    }
    if let Some(share) = unrelated(lock) {
        proposals.push(proposal(Advice::Shorten { share }, share));
    }
    if proposals.is_empty() {
        proposals.push(proposal(Advice::Leave, 0.0));
    }
    proposals
}

/// The advice that follows from the data that sections touch; `None` if no advice does.
fn by_data(lock: &LockFacts, independence: f64) -> Option<Advice> {
    let shared_max = lock.sites.iter().map(|site| site.shared_max).max().unwrap_or(0);
    let sum = |part: fn(&SiteFacts) -> u64| lock.sites.iter().map(part).sum::<u64>();
    // If at least half of the sections do input or output, the lock keeps that in order, whatever
    // data its sections touch.
    let for_io = 2 * sum(|site| site.doing_io) >= lock.traced;
    let locks = lock.locks as u64;
    if shared_max == 0 && would_have_met(lock) {
        return (!for_io).then_some(Advice::NothingShared);
    }
    let plainly = sum(|site| site.plainly_writing);
    if plainly == 0 && sum(|site| site.writing) > 0 && !for_io && !lock.shared_mode {
        return Some(Advice::AlreadyAtomic);
    }
    let many = |pieces: u64| pieces >= MANY_PIECES * locks;
    if shared_max == 1 && !many(lock.groups.groups) && only_memory(lock) && !is_long(lock) {
        return Some(Advice::UseAtomic);
    }
    if independence < INDEPENDENT {
        let without = independence_without_first(lock)?;
        let pieces_without = lock.groups_without.groups;
        let advice = Advice::SplitField { independence_without: without, pieces_without };
        return (without >= INDEPENDENT_WITHOUT).then_some(advice);
    }
    if many(lock.groups.met_again) {
        return Some(Advice::Shard { pieces: lock.groups.groups });
    }
    if for_io {
        return None;
    }
    let few_write = (sum(|site| site.writing) as f64) < FEW_WRITERS * lock.compared as f64;
    let advice = if few_write && !lock.shared_mode {
        Advice::LetReadersShare
    } else {
        Advice::UseOptimistic
    };
    Some(advice)
}

/// Whether the sample is large enough to show that threads share data, if they do: at least half of
/// its sections accessed data that another section accessed as well. (In a small sample of sections
/// on a large table, no entry occurs twice, even if threads share it.)
fn would_have_met(lock: &LockFacts) -> bool {
    let alone = lock.groups.groups - lock.groups.met_again;
    2 * alone <= lock.groups.sections
}

/// The share of pairs that would be independent without the field of the most frequent cause.
/// `None` if fewer than half of the conflicting pairs conflict on that field alone.
fn independence_without_first(lock: &LockFacts) -> Option<f64> {
    let cause = lock.causes.first().filter(|cause| 2 * cause.alone >= lock.window.conflicting)?;
    let left = lock.window.conflicting.saturating_sub(cause.alone);
    Some(1.0 - left as f64 / lock.window.pairs as f64)
}

/// Whether no section makes system calls or allocates memory.
fn only_memory(lock: &LockFacts) -> bool {
    lock.sites.iter().all(|site| site.calling == 0 && site.allocating == 0)
}

fn is_long(lock: &LockFacts) -> bool {
    lock.sites.iter().any(is_long_at)
}

fn is_long_at(site: &SiteFacts) -> bool {
    site.instructions.median >= LONG || 2 * site.cut >= site.traced && site.cut > 0
}

/// Which share of all instructions belongs to long sections and touches no shared data; `None` if
/// no section is long or the share is below [`UNRELATED`].
fn unrelated(lock: &LockFacts) -> Option<f64> {
    let long = || lock.sites.iter().filter(|site| is_long_at(site));
    let total: u64 = long().map(|site| site.total_instructions).sum();
    let all: u64 = lock.sites.iter().map(|site| site.total_instructions).sum();
    let beside: f64 = long().map(|s| s.unshared_share() * s.total_instructions as f64).sum();
    // The share refers to the instructions of all sections, so that a rare long section among short
    // ones does not lead to advice.
    let share = if all == 0 { 0.0 } else { beside / all as f64 };
    (total > 0 && share >= UNRELATED).then_some(share)
}
