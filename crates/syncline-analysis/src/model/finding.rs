//! What is wrong, why it is thought so, what to do, and what that would bring.

use serde::Serialize;

/// The kind of a problem: SyncPerf's five (Table 1), and what it could not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Another primitive would do the same for less.
    ImproperPrimitive,
    /// A lock covers too much, or too little at a time.
    ImproperGranularity,
    /// A lock that nothing needs.
    OverSynchronization,
    /// Some locks of a kind are contended, others are not.
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

/// Which rule found it: one for each row of SyncPerf's Table 1, and one for each of ours.
/// Its name is what `--rule` and the workloads of `docs/accuracy.md` call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A section that only changes one word: an atomic instruction does that.
    AtomicInstead,
    /// A section of a few instructions under a lock that may sleep: a spinlock is cheaper.
    SpinlockInstead,
    /// Sections that only look at a few words, most of all that are entered.
    LookUnderLock,
    /// Sections that only read, under a lock for one at a time.
    ReadersExcludeEachOther,
    /// A lock for readers and writers that only writers take.
    OnlyWriters,
    /// A try that is repeated until it succeeds.
    PollingTry,
    /// Threads that poll a lock, or a counter under it, until all have come.
    PollingBarrier,
    /// Condition variables where an atomic flag or counter would do.
    CondvarForTinyEvents,
    /// One lock over data that could have several.
    TooMuchData,
    /// A section that does more than it has to.
    TooLongSection,
    /// Many tiny sections in one function.
    ManyTinySections,
    /// A queue that is full and empty by turns.
    ShortQueue,
    /// A lock that the program made of a mutex and a condition, and that threads wait for.
    OwnLock,
    /// What the lock protects is atomic already, or excluded already.
    AlreadyExclusive,
    /// The section touches nothing that others can reach.
    LocalDataOnly,
    /// An inner lock that is only ever taken under one and the same outer lock.
    SerializedByOuter,
    /// Locks of one kind, some of them far more contended than others.
    AsymmetricContention,
    /// Groups of threads with unequal work.
    UnequalGroups,
    /// Threads of one group with unequal work.
    UnequalThreads,
    /// Each hand-over goes through a sleeping thread.
    Convoy,
    /// The holder lost its processor.
    PreemptedHolder,
    /// The holder slept or waited for a device.
    SleepingHolder,
    /// Wake-ups that find nothing to do.
    FutileWakeUps,
    /// Hot locks on one cache line.
    LocksShareLine,
    /// A hot lock on a cache line with other data.
    LockBesideData,
    /// Two locks, each taken under the other.
    BothOrders,
    /// A futex of the program's own with much waiting.
    BusyFutex,
}

impl Rule {
    /// Its name: `polling-try`.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a rule is written as its name");
        name.as_str().unwrap_or_default().to_owned()
    }
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which rule found it.
    pub rule: Rule,
    /// The kind of problem.
    pub category: Category,
    /// What is wrong, in one line, without the place.
    pub title: String,
    /// The place in the source, as [`super::Site::place`], or what else names it.
    pub place: String,
    /// Sites, the most important first.
    pub sites: Vec<usize>,
    /// Locks, the most important first; at most a handful of them, since there may be
    /// thousands.
    pub locks: Vec<usize>,
    /// Why it is thought so.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub advice: String,
    /// What counts can't tell, and the command that answers it.
    pub open_question: Option<OpenQuestion>,
    /// What the fix would do to the program.
    pub remedy: Remedy,
    /// What it would bring; none if that can't be told.
    pub gain: Option<Gain>,
}

/// A number, with what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// What was counted or measured.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

/// What a number of a finding counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Things.
    Count,
    /// Things in a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// A share from 0 to 1.
    Share,
    /// How many times as much.
    Times,
}

/// What counts can't tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenQuestion {
    /// The question.
    pub question: String,
    /// The command that answers it.
    pub command: String,
}

/// What a fix does to the program, as far as the prediction of its gain is concerned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum Remedy {
    /// Nobody waits at these sites for these locks any more, and the calls go away.
    RemoveLock {
        /// All its sites.
        sites: Vec<usize>,
        /// Seconds that an acquisition and its release take when nobody is in the way.
        seconds_per_call: f64,
    },
    /// The lock becomes so many, of which each waits for its own share only.
    SplitLock {
        /// Sites whose waits become fewer.
        sites: Vec<usize>,
        /// Locks instead of one.
        parts: f64,
    },
    /// Sections at these sites become this share of what they were.
    ShortenSections {
        /// The sites.
        sites: Vec<usize>,
        /// The share, from 0 to 1.
        to: f64,
    },
    /// Each call becomes cheaper by so much, and its waits as well.
    CheaperCalls {
        /// The sites.
        sites: Vec<usize>,
        /// Seconds saved with each call.
        seconds_per_call: f64,
        /// What remains of the waits, from 0 to 1.
        waits_left: f64,
    },
    /// Threads do not wait at these sites any more.
    NoWaits {
        /// The sites.
        sites: Vec<usize>,
    },
    /// Groups of threads get other numbers of threads, or their threads get equal work.
    Rebalance {
        /// The groups.
        groups: Vec<Group>,
    },
    /// Nothing that could be put into numbers.
    Unknown,
}

/// Threads of one start function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The start function.
    pub start_function: String,
    /// Threads that it has.
    pub threads: usize,
    /// Threads that it should have.
    pub proposed: usize,
    /// Seconds that its threads worked, all together.
    pub work: f64,
    /// Seconds that the busiest of them worked.
    pub busiest: f64,
}

/// What a fix is predicted to bring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The share of the run time that goes away, from 0 to 1.
    pub share: f64,
    /// The same in seconds of the recorded run.
    pub seconds: f64,
    /// How it was predicted.
    pub method: Method,
}

/// How a gain was predicted; `docs/findings.md` describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The recorded waits were played back without those that the fix takes away, and
    /// with calls that cost less.
    Replay,
    /// Work divided among the threads.
    Assignment,
}
