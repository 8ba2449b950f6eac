//! A finding: what is wrong, the evidence for it, what to do, and the predicted gain.

use serde::{Serialize, Serializer};

use super::question::OpenQuestion;
use super::rule::{Category, Rule};

/// A problem that a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that found the problem. The JSON report adds the kind of problem, as `category`.
    #[serde(flatten, serialize_with = "with_category")]
    pub rule: Rule,
    /// What is wrong, in one line, without the call site.
    pub title: String,
    /// The call site in the source, as [`super::Site::place`], or another text that says where the
    /// problem is.
    pub place: String,
    /// The call sites, as indexes of [`super::Process::sites`], the most important first.
    pub sites: Vec<usize>,
    /// The locks, as indexes of [`super::Process::locks`], the most important first. Only a few are
    /// listed, since there may be thousands.
    pub locks: Vec<usize>,
    /// The numbers that support the finding.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub advice: String,
    /// A question that counts can't answer, and the command that answers it.
    pub open_question: Option<OpenQuestion>,
    /// What the fix would do to the program.
    pub remedy: Remedy,
    /// The predicted gain; `None` if unknown.
    pub gain: Option<Gain>,
}

fn with_category<S: Serializer>(&rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Both {
        rule: Rule,
        category: Category,
    }
    Both { rule, category: rule.about().category }.serialize(serializer)
}

/// A number that supports a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// What was counted or measured.
    pub what: String,
    /// The number.
    pub value: f64,
    /// The number's unit.
    pub unit: Unit,
}

/// The unit of a finding's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number of things.
    Count,
    /// A number of things in a second.
    PerSecond,
    /// Seconds.
    Seconds,
    /// A share from 0 to 1.
    Share,
    /// A factor: how many times as much.
    Times,
}

/// The effect of a fix on the program, for the prediction of its gain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum Remedy {
    /// The locks are removed: threads no longer call or wait for them at these sites.
    RemoveLock {
        /// All sites of the locks.
        sites: Vec<usize>,
        /// Seconds that an acquisition and its release take without contention.
        seconds_per_call: f64,
    },
    /// One lock becomes several, and a thread waits only for threads that use the same lock.
    SplitLock {
        /// Sites whose waits become fewer.
        sites: Vec<usize>,
        /// The number of locks that replace one.
        parts: f64,
    },
    /// Sections at these sites become shorter.
    ShortenSections {
        /// The sites.
        sites: Vec<usize>,
        /// The share of the sections' time that remains, from 0 to 1.
        to: f64,
    },
    /// Each call takes less time, and only a share of the waits remains.
    CheaperCalls {
        /// The sites.
        sites: Vec<usize>,
        /// Seconds saved with each call.
        seconds_per_call: f64,
        /// The share of the waits that remains, from 0 to 1.
        waits_left: f64,
    },
    /// Threads hand over several things at a time at these sites. Only a share remains of the
    /// waits, and of the processor time for sleeping and waking.
    FewerHandOvers {
        /// The sites where threads wait.
        sites: Vec<usize>,
        /// The share that is left, from 0 to 1.
        left: f64,
    },
    /// Threads no longer wait at these sites.
    NoWaits {
        /// The sites.
        sites: Vec<usize>,
    },
    /// The numbers of threads in groups change, or the threads of a group get equal work.
    Rebalance {
        /// The groups.
        groups: Vec<Group>,
    },
    /// Pieces of work that are done one after the other are done at the same time.
    AtOnce {
        /// Seconds that the pieces take one after the other.
        seconds: f64,
        /// How many pieces are done at the same time.
        pieces: usize,
    },
    /// Threads no longer take processors from other threads that could run on them.
    FreeProcessors {
        /// Seconds of processor time that become free.
        seconds: f64,
    },
    /// A change without a predictable gain.
    Unknown,
}

/// Threads of one start function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The start function.
    pub start_function: String,
    /// Where the threads come from, as text that follows the word "threads": `of` and their start
    /// function, or `created at` and a call site.
    pub origin: String,
    /// The number of threads that the group has.
    pub threads: usize,
    /// The number of threads that the group should have.
    pub proposed: usize,
    /// Seconds that the group's threads worked, summed.
    pub work: f64,
    /// Seconds that the busiest of the threads worked.
    pub busiest: f64,
}

/// The predicted gain of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The share of the run time that would be saved, from 0 to 1.
    pub share: f64,
    /// The gain in seconds of the recorded run.
    pub seconds: f64,
    /// How the gain was predicted.
    pub method: Method,
}

/// How a gain was predicted; `docs/findings.md` describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The recorded run was replayed with the waits and the work that the fix leaves.
    Replay,
    /// The threads' work was divided anew among them.
    Assignment,
    /// The gain is the share of the processor time that the fix saves.
    Processors,
}
