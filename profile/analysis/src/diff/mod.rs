//! Compares two recordings of a program: before a change, and after it.
//!
//! Runs need not be equally long, so times and counts are given per second of run time. Lines move
//! when a program is changed, so a call site is identified by its operation, function and file;
//! several lines of a function with the same operation are summed. Two findings are the same if
//! they have the same rule and call site.
//!
//! One process of each recording is compared. In the first recording it is the process that lost
//! most time waiting for locks; in the second, the process of that name that lost most, or if there
//! is none, the process that lost most of all.

mod findings;
mod place;
mod sites;

use serde::Serialize;

use crate::analysis::Analysis;
use crate::model::Process;
pub use crate::model::Run;
pub use findings::{Fate, FindingChange};
pub(crate) use findings::{Key, key};
use sites::per_second;
pub use sites::{Rates, SiteChange};

/// The differences between two recordings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// The run before.
    pub before: Run,
    /// The run after.
    pub after: Run,
    /// The findings of both: first the new ones, then those that changed, those that are gone, and
    /// those that are the same; in each group most to gain first.
    pub findings: Vec<FindingChange>,
    /// The call sites of both, ordered by kind, and within a kind with the most changed first.
    pub sites: Vec<SiteChange>,
}

/// Compares two recordings; `None` if either of them is empty.
pub fn diff(before: &Analysis, after: &Analysis) -> Option<Diff> {
    let first = before.processes.first()?;
    let same_name = after.processes.iter().find(|process| process.name() == first.name());
    let second = same_name.or(after.processes.first())?;
    Some(Diff {
        before: run(first),
        after: run(second),
        findings: findings::changes(first, second),
        sites: sites::changes(first, second),
    })
}

/// A summary of a process's run.
pub(crate) fn run(process: &Process) -> Run {
    let acquisitions: u64 = process.threads.iter().map(|thread| thread.acquisitions).sum();
    Run {
        arguments: process.arguments.clone(),
        seconds: process.seconds,
        threads: process.threads.iter().map(|thread| thread.lifetimes.max(1) as usize).sum(),
        thread_seconds: process.thread_seconds,
        waited: process.waiting.locks,
        lock_share: process.lock_share,
        acquisitions_per_second: per_second(acquisitions as f64, process),
    }
}
