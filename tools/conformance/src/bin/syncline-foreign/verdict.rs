//! Decides whether a program ends under Syncline as it does without it. A run without Syncline is
//! called *native* here.
//!
//! The comparison covers how the program ends and, if all native runs print the same, the lines of
//! its standard output. If there is a difference, the program is run again, in turn with native
//! runs. If it ends differently in each of these runs, the difference is reported. If it ends
//! differently only in some of them, or if only the output differs, further native runs are made: a
//! program that prints one of two texts at random may print the same one in a few native runs. If
//! native runs then end in different ways, the program is unstable natively, and nothing can be
//! concluded. If they only print differently, the output is not compared any more. A difference
//! that remains is reported.

use std::time::Duration;

use crate::find::TestProgram;
use crate::laboratory::Outcome;
use crate::supervise::End;
use crate::ways::Way;

/// The number of native runs before the first comparison.
const FIRST: usize = 2;
/// The number of runs under a command if the first one differs.
const REPEATS: usize = 3;
/// The number of further native runs, if not every run under a command ends differently.
const MORE: usize = 6;

/// The verdict on one program under one command.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The program ends and prints as it does natively.
    Same,
    /// The program ends or prints differently.
    Differs(Difference),
    /// Natively the program does not always end in the same way, or does not end in time.
    Unstable,
}

/// The verdicts on one program.
#[derive(Debug)]
pub struct Row {
    /// The program.
    pub program: TestProgram,
    /// The verdicts, one for each command of Syncline, in the order of the commands.
    pub verdicts: Vec<Verdict>,
}

/// The difference between the native runs and the runs under a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The program's end natively, in words.
    pub native: String,
    /// The program's end under the command, in words.
    pub ours: String,
    /// The last line that it printed under the command.
    pub last_line: String,
    /// Whether the program exceeded the time limit.
    pub hangs: bool,
    /// The number of runs under the command that differed.
    pub times: usize,
    /// The number of all runs under the command.
    pub of: usize,
}

/// Finds the verdict on one program under each command. `run` gets a command and the time of the
/// longest native run, and runs the program under that command. If `run` gets `None`, it runs the
/// program natively.
pub fn examine<'a>(
    ways: &'a [Way],
    mut run: impl FnMut(Option<(&'a Way, Duration)>) -> Outcome,
) -> Vec<Verdict> {
    let mut native = Native::default();
    native.more(FIRST, &mut run);
    ways.iter().map(|way| judge(way, &mut native, &mut run)).collect()
}

fn judge<'a>(
    way: &'a Way,
    native: &mut Native,
    run: &mut impl FnMut(Option<(&'a Way, Duration)>) -> Outcome,
) -> Verdict {
    let mut outcomes = Vec::new();
    while native.is_stable() {
        outcomes.push(run(Some((way, native.longest()))));
        let different = outcomes.iter().filter(|outcome| native.differs(outcome)).count();
        if different == 0 {
            return Verdict::Same;
        }
        if outcomes.len() < REPEATS {
            native.more(1, run);
            continue;
        }
        if outcomes.iter().any(|outcome| !native.ends_differently(outcome)) {
            native.more(MORE, run);
        }
        let Some(shown) = outcomes.iter().find(|outcome| native.differs(outcome)) else {
            return Verdict::Same;
        };
        if native.is_stable() {
            return Verdict::Differs(native.difference(shown, &outcomes));
        }
    }
    Verdict::Unstable
}

/// The native runs of a program.
#[derive(Default)]
struct Native {
    runs: Vec<Outcome>,
}

impl Native {
    fn more<'a>(
        &mut self,
        runs: usize,
        run: &mut impl FnMut(Option<(&'a Way, Duration)>) -> Outcome,
    ) {
        for _ in 0..runs {
            // If a program does not end in time, or is known to be unstable, another native run
            // shows nothing new.
            if self.runs.is_empty() || self.is_stable() {
                self.runs.push(run(None));
            }
        }
    }

    fn is_stable(&self) -> bool {
        self.runs[0].end != End::Hang && self.runs.iter().all(|run| run.end == self.runs[0].end)
    }

    fn longest(&self) -> Duration {
        self.runs.iter().map(|run| run.took).max().unwrap_or_default()
    }

    fn differs(&self, outcome: &Outcome) -> bool {
        let first = &self.runs[0];
        let prints_the_same = self.runs.iter().all(|run| run.output == first.output);
        self.ends_differently(outcome) || prints_the_same && outcome.output != first.output
    }

    fn ends_differently(&self, outcome: &Outcome) -> bool {
        outcome.end != self.runs[0].end
    }

    fn difference(&self, shown: &Outcome, outcomes: &[Outcome]) -> Difference {
        let first = &self.runs[0];
        let ours = match shown.end {
            End::Hang => "hangs".to_owned(),
            _ if shown.end == first.end => "prints otherwise".to_owned(),
            End::Status(status) => format!("status {status}"),
        };
        let native = match first.end {
            End::Hang => "hangs".to_owned(),
            End::Status(status) => format!("status {status}"),
        };
        Difference {
            native,
            ours,
            last_line: shown.last_line.clone(),
            hangs: shown.end == End::Hang,
            times: outcomes.iter().filter(|outcome| self.differs(outcome)).count(),
            of: outcomes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(status: i32, output: &str) -> Outcome {
        let end = if status < 0 { End::Hang } else { End::Status(status) };
        let (output, last_line) = (vec![output.to_owned()], String::new());
        Outcome { end, output, last_line, took: Duration::from_millis(1) }
    }

    /// The verdict if successive native runs end and print as `natively` lists, and successive runs
    /// under a command as `ours` lists. Further runs end like the last entry of the list.
    fn verdict(natively: &[(i32, &str)], ours: &[(i32, &str)]) -> Verdict {
        let (mut native_runs, mut our_runs) = (0, 0);
        let ways = [Way::Record];
        let verdicts = examine(&ways, |way| {
            let (list, at) = match way {
                None => (natively, &mut native_runs),
                Some(_) => (ours, &mut our_runs),
            };
            let (status, output) = list[(*at).min(list.len() - 1)];
            *at += 1;
            outcome(status, output)
        });
        verdicts.into_iter().next().expect("one way")
    }

    fn differs(verdict: &Verdict) -> Option<(&str, usize)> {
        match verdict {
            Verdict::Differs(difference) => Some((&difference.ours, difference.times)),
            _ => None,
        }
    }

    #[test]
    fn equal_outcomes_are_the_same() {
        assert_eq!(verdict(&[(0, "")], &[(0, "")]), Verdict::Same);
        assert_eq!(verdict(&[(139, "")], &[(139, "")]), Verdict::Same);
    }

    #[test]
    fn failures_in_all_runs_differ_from_chance() {
        assert_eq!(differs(&verdict(&[(0, "")], &[(1, "")])), Some(("status 1", 3)));
        assert_eq!(differs(&verdict(&[(0, "")], &[(-1, "")])), Some(("hangs", 3)));
        assert_eq!(differs(&verdict(&[(0, "")], &[(1, ""), (0, "")])), Some(("status 1", 1)));
    }

    #[test]
    fn unstable_programs_are_no_difference() {
        assert_eq!(verdict(&[(0, ""), (1, "")], &[(0, "")]), Verdict::Unstable);
        assert_eq!(verdict(&[(-1, "")], &[(0, "")]), Verdict::Unstable);
        let late = [(0, ""), (0, ""), (1, ""), (0, "")];
        assert_eq!(verdict(&late, &[(1, "")]), Verdict::Unstable);
        let later = [(0, ""), (0, ""), (0, ""), (0, ""), (0, ""), (1, ""), (0, "")];
        assert_eq!(verdict(&later, &[(1, ""), (0, "")]), Verdict::Unstable);
    }

    #[test]
    fn output_is_compared_if_stable() {
        assert_eq!(differs(&verdict(&[(0, "a")], &[(0, "b")])), Some(("prints otherwise", 3)));
        assert_eq!(verdict(&[(0, "a"), (0, "b")], &[(0, "c")]), Verdict::Same);
        let late = [(0, "a"), (0, "a"), (0, "b")];
        assert_eq!(verdict(&late, &[(0, "c")]), Verdict::Same);
        let later = [(0, "a"), (0, "a"), (0, "a"), (0, "a"), (0, "b")];
        assert_eq!(verdict(&later, &[(0, "b")]), Verdict::Same);
    }
}
