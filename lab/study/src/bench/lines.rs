//! The results of tests: a line for each test, and a table of all lines.

use std::fmt::Write as _;

use serde::Serialize;

use crate::figures::sentence::number;
use crate::stress::Outcome;

/// A test's results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The name of the test, such as a lock or a channel.
    pub name: String,
    /// The number of threads or, for a free lock, the position of its last holder.
    pub at: String,
    /// The average over the repetitions.
    pub outcome: Outcome,
    /// The least and the greatest value over the repetitions, in the unit that is shown.
    pub spread: [f64; 2],
}

/// The value that a table shows for each test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Millions of operations per second.
    Throughput,
    /// Average cycles of an operation.
    Cycles,
}

impl Shown {
    /// The shown value's unit, in words.
    pub fn unit(self) -> &'static str {
        match self {
            Shown::Throughput => "million operations a second",
            Shown::Cycles => "cycles of an operation",
        }
    }

    pub(super) fn of(self, outcome: &Outcome) -> f64 {
        match self {
            Shown::Throughput => outcome.per_second / 1e6,
            Shown::Cycles => outcome.cycles,
        }
    }
}

pub fn line(name: &str, at: String, shown: Shown, outcomes: Vec<Outcome>) -> Line {
    let average = |field: fn(&Outcome) -> f64| {
        outcomes.iter().map(field).sum::<f64>() / outcomes.len() as f64
    };
    let values = || outcomes.iter().map(|outcome| shown.of(outcome));
    Line {
        name: name.to_owned(),
        at,
        outcome: Outcome {
            per_second: average(|o| o.per_second),
            success_percent: average(|o| o.success_percent),
            cycles: average(|o| o.cycles),
            fairness: average(|o| o.fairness),
        },
        spread: [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)],
    }
}

/// Formats the results for a terminal: a row for each name, and a column for each number of threads
/// or each position.
pub fn table(lines: &[Line], shown: Shown) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut rows: Vec<&str> = Vec::new();
    for line in lines {
        if !columns.contains(&line.at.as_str()) {
            columns.push(&line.at);
        }
        if !rows.contains(&line.name.as_str()) {
            rows.push(&line.name);
        }
    }
    let width = columns.iter().map(|column| column.len() + 2).max().unwrap_or(0).max(9);
    let names = rows.iter().map(|row| row.len() + 1).max().unwrap_or(0).max(16);
    let mut text = format!("{:<names$}", "");
    for column in &columns {
        let _ = write!(text, "{column:>width$}");
    }
    for row in rows {
        let _ = write!(text, "\n{row:<names$}");
        for line in lines.iter().filter(|line| line.name == row) {
            let _ = write!(text, "{:>width$}", number(shown.of(&line.outcome)));
        }
    }
    text + "\n"
}
