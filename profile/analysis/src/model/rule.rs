//! The table of all rules. It determines the precedence of findings about the same waits, the
//! rules' names, what `tune` and `whatif` try, and the lists in tests and documents.
//!
//! Each rule's thresholds and conditions are in its file below `findings`.

use serde::Serialize;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use super::whatif::Delayed;

/// The kind of a problem: SyncPerf's five (Table 1), and kinds that SyncPerf could not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Another primitive would do the same at less cost.
    ImproperPrimitive,
    /// A lock covers too much data or work, or each acquisition too little.
    ImproperGranularity,
    /// A lock that nothing needs.
    OverSynchronization,
    /// Some locks of a kind are far more contended than the others.
    AsymmetricContention,
    /// Some threads have more to do than others.
    LoadImbalance,
    /// A lock's holder keeps others waiting while it does not run.
    BlockedHolder,
    /// Threads are woken for nothing.
    WastedWakeUps,
    /// Locks, or a lock and other data, share a cache line.
    FalseSharing,
    /// Locks are taken in both orders.
    LockOrder,
}

/// The rules: one for each row of SyncPerf's Table 1, and ours. `--rule` and the workloads of
/// `docs/accuracy.md` use a rule's name.
///
/// If several rules apply to the same waits or calls, the first in this order takes precedence: a
/// rule whose fix resolves the problems of others comes before these. Needless locks are first,
/// then waits that another primitive would avoid, better primitives, better use of the same
/// primitives, symptoms, and small gains. The rules that never coincide with another rule are at
/// the end.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, EnumIter, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// An inner lock that is only ever taken with an outer lock held.
    SerializedByOuter,
    /// The section touches nothing that other threads can reach.
    LocalDataOnly,
    /// The shared data that the sections change is only changed by atomic instructions.
    AlreadyExclusive,
    /// Threads that poll a lock, or a counter under it, until all have arrived.
    PollingBarrier,
    /// A try that is repeated until it succeeds.
    PollingTry,
    /// A yield that is repeated until a condition holds.
    PollingYield,
    /// A loop that polls a word until a condition holds.
    PollingLoop,
    /// A sleep that is repeated until a condition holds.
    PollingSleep,
    /// A queue that is alternately full and empty.
    ShortQueue,
    /// A lock that the program made from a mutex and conditions, or from a semaphore, and that
    /// threads wait for.
    OwnLock,
    /// Threads that sleep for events that come soon, or for pieces of work that are small compared
    /// with a wake-up.
    TinyEvents,
    /// Wake-ups that find nothing to do.
    FutileWakeUps,
    /// The holder slept or waited for a device.
    SleepingHolder,
    /// Many tiny sections in one function.
    ManyTinySections,
    /// A section that only reads or changes one word, which an atomic instruction can do.
    AtomicInstead,
    /// Most sections only read a few words.
    LookUnderLock,
    /// Sections that only read, under a lock that admits one thread at a time.
    ReadersExcludeEachOther,
    /// Locks of one kind, some of them far more contended than others.
    AsymmetricContention,
    /// One lock over data that could have several.
    TooMuchData,
    /// Each hand-over goes through a sleeping thread.
    Convoy,
    /// A section that does more than it needs to do under the lock.
    TooLongSection,
    /// The holder lost its processor.
    PreemptedHolder,
    /// A lock with short sections, for which threads wait during much of their time.
    TakenTooOften,
    /// A reader-writer lock that only writers take.
    OnlyWriters,
    /// A section of a few instructions under a lock that may sleep: a spinlock is cheaper.
    SpinlockInstead,
    /// A futex of the program's own with much waiting.
    BusyFutex,
    /// Work that one thread does while all others wait, again and again, or that several threads do
    /// one at a time.
    SerialStage,
    /// Atomic instructions that take much of the processor time.
    BusyAtomics,
    /// A lock inside a function of the C library.
    LibraryLock,
    /// A thread that is created for each small piece of work.
    ThreadForEachTask,
    /// Requests that wait in a server's sockets while all its threads sleep.
    UnreadRequests,
    /// Pieces of work that sleep, done one after the other in one thread, while other threads wait.
    OneAtATime,
    /// Groups of threads with unequal work.
    UnequalGroups,
    /// Threads of one group with unequal work.
    UnequalThreads,
    /// Hot locks on one cache line.
    LocksShareLine,
    /// A hot lock on a cache line with other data.
    LockBesideData,
    /// Locks that are taken in both orders, or in a cycle.
    BothOrders,
}

/// The properties of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The kind of problem.
    pub category: Category,
    /// Whether other rules may apply to the same waits and calls. If several do, only one of their
    /// findings is reported.
    pub shares_waits: bool,
    /// Which of the waits at its call sites are the problem.
    pub waiting: Lost,
    /// The kind of lock that would fix the problem if it replaced the program's lock.
    pub mended_by: AnotherLock,
    /// The operations that `whatif` slows down to measure the cost; `None` for all operations of
    /// the call site.
    pub delayed: Option<Delayed>,
}

/// Which of the waits at a finding's call sites the finding's problem causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// None: the problem is the cost of calls, or a possible deadlock.
    Nothing,
    /// Waits for locks only. Threads that wait for an event there may be idle.
    AtLocks,
    /// Waits for locks and for events: for a lock of the program's own, for room in a queue, or for
    /// something that comes soon.
    All,
}

/// Whether replacing the program's lock with another fixes a problem, and which kind of lock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnotherLock {
    /// Another lock does not fix it.
    No,
    /// A lock that costs less without contention.
    Cheaper,
    /// A lock whose waiters give up their processors, so that a holder without a processor can run.
    Yielding,
    /// A lock that is handed over sooner, or whose waiters sleep in another way.
    HandingOver,
}

/// The properties of a rule that may apply to the same waits as others.
const fn shared(
    category: Category,
    waiting: Lost,
    mended_by: AnotherLock,
    delayed: Option<Delayed>,
) -> About {
    About { category, shares_waits: true, waiting, mended_by, delayed }
}

/// The properties of a rule that never coincides with another.
const fn alone(category: Category, waiting: Lost) -> About {
    About { category, shares_waits: false, waiting, mended_by: AnotherLock::No, delayed: None }
}

impl Rule {
    /// The rule's row of the table.
    #[rustfmt::skip]
    pub const fn about(self) -> About {
        use AnotherLock::{Cheaper, HandingOver, No, Yielding};
        use Category as C;
        use Delayed::{Try, Wait};
        use Lost::{All, AtLocks, Nothing};
        match self {
            Rule::SerializedByOuter       => shared(C::OverSynchronization,  AtLocks, No,          None),
            Rule::LocalDataOnly           => shared(C::OverSynchronization,  AtLocks, No,          None),
            Rule::AlreadyExclusive        => shared(C::OverSynchronization,  AtLocks, No,          None),
            Rule::PollingBarrier          => shared(C::ImproperPrimitive,    AtLocks, No,          Some(Try)),
            Rule::PollingTry              => shared(C::ImproperPrimitive,    AtLocks, HandingOver, Some(Try)),
            Rule::PollingYield            => shared(C::ImproperPrimitive,    All,     No,          None),
            Rule::PollingLoop             => shared(C::ImproperPrimitive,    All,     No,          None),
            Rule::PollingSleep            => shared(C::ImproperPrimitive,    All,     No,          None),
            Rule::ShortQueue              => shared(C::ImproperGranularity,  All,     No,          Some(Wait)),
            Rule::OwnLock                 => shared(C::ImproperGranularity,  All,     No,          None),
            Rule::TinyEvents              => shared(C::ImproperPrimitive,    All,     No,          Some(Wait)),
            Rule::FutileWakeUps           => shared(C::WastedWakeUps,        AtLocks, No,          Some(Wait)),
            Rule::SleepingHolder          => shared(C::BlockedHolder,        All,     No,          None),
            Rule::ManyTinySections        => shared(C::ImproperGranularity,  Nothing, Cheaper,     None),
            Rule::AtomicInstead           => shared(C::ImproperPrimitive,    AtLocks, Cheaper,     None),
            Rule::LookUnderLock           => shared(C::ImproperPrimitive,    AtLocks, No,          None),
            Rule::ReadersExcludeEachOther => shared(C::ImproperPrimitive,    AtLocks, No,          None),
            Rule::AsymmetricContention    => shared(C::AsymmetricContention, AtLocks, No,          None),
            Rule::TooMuchData             => shared(C::ImproperGranularity,  AtLocks, HandingOver, None),
            Rule::Convoy                  => shared(C::BlockedHolder,        AtLocks, HandingOver, None),
            Rule::TooLongSection          => shared(C::ImproperGranularity,  AtLocks, HandingOver, None),
            Rule::PreemptedHolder         => shared(C::BlockedHolder,        AtLocks, Yielding,    None),
            Rule::TakenTooOften           => shared(C::ImproperGranularity,  AtLocks, HandingOver, None),
            Rule::OnlyWriters             => shared(C::ImproperPrimitive,    Nothing, HandingOver, None),
            Rule::SpinlockInstead         => shared(C::ImproperPrimitive,    Nothing, Cheaper,     None),
            Rule::BusyFutex               => shared(C::ImproperGranularity,  AtLocks, No,          None),
            Rule::SerialStage             => shared(C::LoadImbalance,        Nothing, No,          None),
            Rule::BusyAtomics             => alone(C::ImproperGranularity, Nothing),
            Rule::LibraryLock             => alone(C::ImproperPrimitive, AtLocks),
            Rule::ThreadForEachTask       => alone(C::ImproperGranularity, All),
            Rule::UnreadRequests          => alone(C::LoadImbalance, Nothing),
            Rule::OneAtATime              => alone(C::ImproperGranularity, All),
            Rule::UnequalGroups           => alone(C::LoadImbalance, AtLocks),
            Rule::UnequalThreads          => alone(C::LoadImbalance, AtLocks),
            Rule::LocksShareLine          => alone(C::FalseSharing, Nothing),
            Rule::LockBesideData          => alone(C::FalseSharing, Nothing),
            Rule::BothOrders              => alone(C::LockOrder, Nothing),
        }
    }

    /// All rules, in the order of precedence.
    pub fn all() -> impl Iterator<Item = Rule> {
        Rule::iter()
    }

    /// The rule's name, such as `polling-try`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_names_equal_those_of_the_json_report() {
        for rule in Rule::all() {
            assert_eq!(serde_json::to_value(rule).unwrap(), rule.name());
        }
    }

    /// The order of the table is the order of precedence; rules without precedence come last.
    #[test]
    fn rules_with_precedence_come_first() {
        let shares: Vec<bool> = Rule::all().map(|rule| rule.about().shares_waits).collect();
        assert!(shares.is_sorted_by(|before, after| before >= after), "{shares:?}");
    }
}
