//! The findings of several runs of a program that are read as one.

use serde::Serialize;

use super::rule::Rule;

/// The main numbers of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The program's arguments, its name first.
    pub arguments: Vec<String>,
    /// Seconds that the process ran.
    pub seconds: f64,
    /// The number of the process's threads.
    pub threads: usize,
    /// Seconds that the threads lived, summed.
    pub thread_seconds: f64,
    /// Seconds that the threads waited for locks, summed.
    pub waited: f64,
    /// The share of the threads' time that was lost waiting for locks.
    pub lock_share: f64,
    /// Acquisitions of locks in a second.
    pub acquisitions_per_second: f64,
}

/// The runs that were read as one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Runs {
    /// The runs, in the order in which they were given.
    pub runs: Vec<Run>,
    /// Index of the run that is shown.
    pub shown: usize,
    /// The findings of all runs: first those of the run that is shown, in its order, and then those
    /// that only other runs have.
    pub findings: Vec<Seen>,
}

/// In how many runs a finding was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The rule that found it.
    pub rule: Rule,
    /// What is wrong.
    pub title: String,
    /// The call site, as [`super::Finding::place`].
    pub place: String,
    /// The number of runs in which it was seen.
    pub runs: usize,
    /// The smallest gain predicted for one of these runs, as a share of the run time; `None` if no
    /// gain was predicted.
    pub least: Option<f64>,
    /// The largest gain predicted for one of these runs; `None` if no gain was predicted.
    pub most: Option<f64>,
}

impl Runs {
    /// In how many runs a finding was seen. `finding` is its index in the process that is shown.
    pub fn seen(&self, finding: usize) -> Option<&Seen> {
        self.findings.get(finding)
    }
}
