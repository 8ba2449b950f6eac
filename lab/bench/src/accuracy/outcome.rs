//! The outcome of all runs of one workload.

use std::collections::BTreeSet;

use super::verdict::{Seen, Verdict};
use crate::statistics::{Spread, median, spread};

/// The outcome of all runs of one workload.
pub struct Outcome {
    /// The workload's name.
    pub name: String,
    /// The rules that would be right.
    pub expected: String,
    /// The number of recorded runs of each variant.
    pub runs: usize,
    /// The outcome of the variant with the problem; `None` for clean workloads.
    pub problem: Option<Problem>,
    /// The findings about the variant without a problem that no mark expects, for each recorded
    /// run.
    pub false_alarms: Vec<Vec<Seen>>,
}

/// The outcome of the variant with the problem.
#[derive(Default)]
pub struct Problem {
    /// The verdict of each recorded run.
    pub verdicts: Vec<Verdict>,
    /// Whether the problem was seen in the stripped program, for each recorded run of that program.
    pub stripped: Vec<bool>,
    /// Seconds with the problem and with its fix, in pairs of runs without recording.
    pub pairs: Vec<(f64, f64)>,
}

impl Problem {
    /// The number of recorded runs in which the problem was found.
    pub fn hits(&self) -> usize {
        self.verdicts.iter().filter(|v| v.hit.is_some()).count()
    }

    /// The number of recorded runs of the stripped program in which the problem was seen.
    pub fn stripped_hits(&self) -> usize {
        self.stripped.iter().filter(|&&seen| seen).count()
    }

    /// Whether the problem was seen in most runs of the stripped program.
    pub fn is_seen_stripped(&self) -> bool {
        2 * self.stripped_hits() > self.stripped.len()
    }

    /// The predicted gain as a share of the run time: the median over the runs with a prediction.
    /// `None` if no run has one.
    pub fn predicted(&self) -> Option<f64> {
        let gains: Vec<f64> = self.verdicts.iter().filter_map(|v| v.hit.as_ref()?.gain).collect();
        (!gains.is_empty()).then(|| median(&gains))
    }

    /// The share of the run time that the fix saves.
    pub fn measured(&self) -> Spread {
        let gain = |&(problem, fixed): &(f64, f64)| (problem - fixed) / problem;
        spread(&self.pairs.iter().map(gain).collect::<Vec<_>>())
    }

    /// Each other finding once, as its rule and position, with its number in all runs.
    pub fn also(&self) -> Vec<(String, usize)> {
        distinct(self.verdicts.iter().map(|v| &v.also))
    }
}

impl Outcome {
    /// Whether the problem was found in most runs.
    pub fn is_found(&self) -> bool {
        self.problem.as_ref().is_some_and(|p| 2 * p.hits() > p.verdicts.len())
    }

    /// Whether most runs of the variant without a problem had a finding that no mark expects.
    pub fn is_false_alarm(&self) -> bool {
        2 * self.false_alarms.iter().filter(|seen| !seen.is_empty()).count() > self.runs
    }

    /// Whether there is a problem that was not found.
    pub fn is_missed(&self) -> bool {
        self.problem.is_some() && !self.is_found()
    }

    /// Whether most runs have the right verdicts, so that no further run is needed to outvote wrong
    /// ones.
    pub fn is_right(&self) -> bool {
        !self.is_false_alarm() && !self.is_missed()
    }

    /// The name of the variant without a problem.
    pub fn sound_variant(&self) -> String {
        let fixed = if self.problem.is_some() { " --fixed" } else { "" };
        format!("{}{fixed}", self.name)
    }

    /// The difference between predicted and measured gain; `None` if the problem was not found or
    /// no gain was predicted.
    pub fn gain_error(&self) -> Option<f64> {
        let problem = self.problem.as_ref().filter(|_| self.is_found())?;
        Some((problem.predicted()? - problem.measured().median).abs())
    }
}

/// Each finding once, as its rule with file and line, with the number of runs that have it.
pub fn distinct<'a>(runs: impl Iterator<Item = &'a Vec<Seen>>) -> Vec<(String, usize)> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    let text = |one: &Seen| {
        let place = one.place.rsplit('/').next().unwrap_or_default();
        format!("{} ({place})", one.rule)
    };
    for texts in runs.map(|run| run.iter().map(text).collect::<BTreeSet<String>>()) {
        for text in texts {
            match counted.iter_mut().find(|(other, _)| *other == text) {
                Some((_, count)) => *count += 1,
                None => counted.push((text, 1)),
            }
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(gain: Option<f64>) -> Seen {
        Seen { rule: "convoy".into(), place: "f at /src/a.c:1".into(), gain }
    }

    fn outcome(hits: &[Option<Option<f64>>]) -> Outcome {
        let verdict = |hit: &Option<Option<f64>>| Verdict { hit: hit.map(seen), also: Vec::new() };
        let verdicts = hits.iter().map(verdict).collect();
        let pairs = vec![(2.0, 1.0), (4.0, 1.0), (2.0, 1.5)];
        Outcome {
            name: String::new(),
            expected: String::new(),
            runs: hits.len(),
            problem: Some(Problem { verdicts, stripped: vec![true; hits.len()], pairs }),
            false_alarms: vec![Vec::new(); hits.len()],
        }
    }

    #[test]
    fn half_of_the_runs_is_not_enough() {
        assert!(!outcome(&[Some(None), None]).is_found());
        assert!(outcome(&[Some(None), None, Some(None)]).is_found());
    }

    #[test]
    fn one_run_of_three_is_no_false_alarm_yet() {
        let mut outcome = outcome(&[Some(None); 3]);
        outcome.false_alarms[1].push(seen(None));
        assert!(outcome.is_right());
        outcome.false_alarms[2].push(seen(None));
        assert!(outcome.is_false_alarm() && !outcome.is_right());
    }

    #[test]
    fn the_gain_error_compares_medians() {
        let found = outcome(&[Some(Some(0.1)), Some(Some(0.3)), Some(Some(0.9))]);
        let error = found.gain_error().unwrap();
        assert!((error - 0.2).abs() < 1e-12, "0.3 predicted, 0.5 measured: {error}");
        assert_eq!(outcome(&[Some(None)]).gain_error(), None, "nothing was predicted");
        assert_eq!(outcome(&[Some(Some(0.1)), None]).gain_error(), None, "it was not found");
    }
}
