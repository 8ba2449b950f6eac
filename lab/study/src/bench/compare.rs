//! The same tests on two machines: how well a description of a machine foretells it.

use serde::Serialize;

use super::lines::{Line, Shown};
use crate::claims::median;

/// The results on two machines side by side: those of the second one over those of the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// What was compared: the lock or operation, and threads or place.
    pub name: String,
    /// Threads, or where the last holder was.
    pub at: String,
    /// What the first machine shows.
    pub first: f64,
    /// What the second one shows.
    pub second: f64,
    /// The second's over the first's.
    pub ratio: f64,
}

/// Compares the results of the same tests on two machines.
pub fn compared(first: &[Line], second: &[Line], shown: Shown) -> Vec<Comparison> {
    let same = |line: &Line| second.iter().find(|o| o.name == line.name && o.at == line.at);
    let pairs = first.iter().filter_map(|line| Some((line, same(line)?)));
    let comparison = |(line, other): (&Line, &Line)| {
        let (first, second) = (shown.of(&line.outcome), shown.of(&other.outcome));
        let (name, at) = (line.name.clone(), line.at.clone());
        Comparison { name, at, first, second, ratio: second / first }
    };
    pairs.map(comparison).collect()
}

/// How far the second machine is off, as a person says it: the middle one of all differences.
pub fn error_percent(comparisons: &[Comparison]) -> f64 {
    median(comparisons.iter().map(|c| 100.0 * (c.ratio - 1.0).abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::Outcome;

    #[test]
    fn machines_are_compared_test_by_test() {
        let line = |name: &str, per_second| Line {
            name: name.to_owned(),
            at: "2".to_owned(),
            outcome: Outcome { per_second, ..Outcome::default() },
            spread: [0.0, 0.0],
        };
        let first = [line("mcs", 1e6), line("tas", 2e6), line("clh", 1.0)];
        let second = [line("tas", 3e6), line("mcs", 9e5)];
        let both = compared(&first, &second, Shown::Throughput);
        assert_eq!(both.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["mcs", "tas"]);
        assert_eq!((both[1].first, both[1].second, both[1].ratio), (2.0, 3.0, 1.5));
        assert!((error_percent(&both) - 30.0).abs() < 1e-9, "10 % and 50 %");
    }
}
