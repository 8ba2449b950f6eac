//! What several runs of a program say together.

use serde::Serialize;

use super::Rule;
use crate::diff::Run;

/// The runs that were read as one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Runs {
    /// Each of them, in the order in which they were given.
    pub runs: Vec<Run>,
    /// Which of them is shown.
    pub shown: usize,
    /// The findings of all: first those of the run that is shown, in its order, and then those that
    /// only others have.
    pub findings: Vec<Seen>,
}

/// In how many runs a finding was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// Which rule found it.
    pub rule: Rule,
    /// What is wrong.
    pub title: String,
    /// The place.
    pub place: String,
    /// The runs that it was seen in.
    pub runs: usize,
    /// The least share of the run time that one of these promises; none if none can tell.
    pub least: Option<f64>,
    /// The largest.
    pub most: Option<f64>,
}

impl Runs {
    /// In how many runs a finding of the process that is shown was seen, by its place in the list.
    pub fn seen(&self, finding: usize) -> Option<&Seen> {
        self.findings.get(finding)
    }
}
