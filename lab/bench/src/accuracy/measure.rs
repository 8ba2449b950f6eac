//! Runs a workload: with recording to get findings, and without recording to measure its time.

use std::path::Path;
use std::process::Command;

use indicatif::ProgressBar;
use syncline_analysis::{Analysis, Options};

use super::outcome::{Outcome, Problem};
use super::verdict::{Seen, is_seen, judge, unmarked};
use super::workloads::{self, Workload};
use crate::compare::Side;
use crate::lab::Lab;
use crate::process;
use crate::programs::Wrapper;
use crate::recorder::Recorder;
use crate::size::Size;

/// The numbers of runs, and the work of each run.
pub struct Runs {
    /// The number of recorded runs of each variant.
    recorded: usize,
    /// The most recorded runs if some have wrong verdicts. The majority of the verdicts decides.
    most: usize,
    /// The number of pairs of runs without recording.
    pairs: usize,
    /// The work of a run, in per cent of the default.
    percent: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Variant {
    Problem,
    Fixed,
}

impl Runs {
    pub fn of(size: Size) -> Runs {
        Runs {
            recorded: size.pick(1, 1, 5),
            most: size.pick(1, 7, 5),
            pairs: size.pick(1, 1, 9),
            percent: size.pick(20, 20, 100),
        }
    }

    /// The number of runs of a workload, which the progress bar counts.
    pub fn steps(&self, workload: &Workload) -> u64 {
        // The variants are the program with its problem, the fixed program, and the stripped
        // program with the problem.
        let variants = if workload.marks.is_empty() { 1 } else { 3 };
        let timed = if workload.marks.is_empty() { 0 } else { self.pairs };
        (variants * self.recorded + 2 * timed) as u64
    }

    pub fn outcome(
        &self,
        workload: &Workload,
        lab: &Lab,
        recorder: &Recorder,
        bar: &ProgressBar,
    ) -> anyhow::Result<Outcome> {
        let program = workload.compile(lab)?;
        let stripped = workload.stripped(lab, &program)?;
        let lasting = |variant| -> anyhow::Result<f64> {
            let command = self.with_arguments(Command::new(&program), variant);
            let stdout = process::run(command, lab.folder(), "workload")?.stdout;
            bar.inc(1);
            workloads::seconds(&stdout)
        };
        let recorded = |program: &Path, variant| -> anyhow::Result<Vec<Seen>> {
            let command = recorder.command(Side::Subject, &workload.name, program)?;
            let command = self.with_arguments(command, variant);
            process::run(command, lab.folder(), "workload")?;
            bar.inc(1);
            findings(&recorder.recording(&workload.name))
        };

        // A clean workload has a single variant, which has no problem.
        let sound = if workload.marks.is_empty() { Variant::Problem } else { Variant::Fixed };
        let mut outcome = Outcome {
            name: workload.name.clone(),
            expected: workload.expected(),
            runs: 0,
            problem: (sound == Variant::Fixed).then(Problem::default),
            false_alarms: Vec::new(),
        };
        while self.needs_another(&outcome) {
            if let Some(problem) = &mut outcome.problem {
                let seen = recorded(&program, Variant::Problem)?;
                problem.verdicts.push(judge(&workload.marks, seen));
                let seen = recorded(&stripped, Variant::Problem)?;
                problem.stripped.push(is_seen(&workload.marks, &seen));
            }
            let seen = recorded(&program, sound)?;
            outcome.false_alarms.push(unmarked(&workload.remaining, seen));
            outcome.runs += 1;
        }
        if let Some(problem) = &mut outcome.problem {
            problem.pairs = self.pairs(lasting)?;
        }
        Ok(outcome)
    }

    /// Whether the workload has to be recorded again. A majority needs an odd number of runs.
    fn needs_another(&self, outcome: &Outcome) -> bool {
        let undecided = !outcome.is_right() || outcome.runs.is_multiple_of(2);
        outcome.runs < self.recorded || (outcome.runs < self.most && undecided)
    }

    /// Seconds with the problem and without it, in two consecutive runs. Which of the two goes
    /// first alternates.
    fn pairs(
        &self,
        mut lasting: impl FnMut(Variant) -> anyhow::Result<f64>,
    ) -> anyhow::Result<Vec<(f64, f64)>> {
        let mut pairs = Vec::new();
        for pair in 0..self.pairs {
            pairs.push(if pair % 2 == 0 {
                let problem = lasting(Variant::Problem)?;
                (problem, lasting(Variant::Fixed)?)
            } else {
                let fixed = lasting(Variant::Fixed)?;
                (lasting(Variant::Problem)?, fixed)
            });
        }
        Ok(pairs)
    }

    fn with_arguments(&self, mut command: Command, variant: Variant) -> Command {
        command.arg("--work").arg(self.percent.to_string());
        if variant == Variant::Fixed {
            command.arg("--fixed");
        }
        command
    }
}

/// The findings of `syncline report` on a recording, in descending order of gain.
fn findings(recording: &Path) -> anyhow::Result<Vec<Seen>> {
    let analysis = Analysis::load(recording, &Options::default())?;
    let mut seen = Vec::new();
    for finding in analysis.processes.into_iter().flat_map(|p| p.findings) {
        seen.push(Seen {
            rule: finding.rule.name().to_owned(),
            place: finding.place,
            gain: finding.gain.map(|gain| gain.share),
        });
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_alarm_in_one_run_of_two_needs_more_runs() {
        let runs = Runs { recorded: 1, most: 3, pairs: 1, percent: 100 };
        let alarm = Seen { rule: String::new(), place: String::new(), gain: None };
        let outcome = |false_alarms: Vec<Vec<Seen>>| Outcome {
            name: String::new(),
            expected: String::new(),
            runs: false_alarms.len(),
            problem: None,
            false_alarms,
        };
        assert!(!runs.needs_another(&outcome(vec![vec![]])));
        assert!(runs.needs_another(&outcome(vec![vec![alarm.clone()]])));
        assert!(runs.needs_another(&outcome(vec![vec![alarm.clone()], vec![]])));
        assert!(!runs.needs_another(&outcome(vec![vec![alarm], vec![], vec![]])));
    }

    #[test]
    fn the_variant_that_goes_first_alternates() {
        let runs = Runs { recorded: 1, most: 1, pairs: 3, percent: 100 };
        let mut order = Vec::new();
        let pairs = runs.pairs(|variant| {
            order.push(variant);
            Ok(order.len() as f64)
        });
        assert_eq!(pairs.unwrap(), [(1.0, 2.0), (4.0, 3.0), (5.0, 6.0)]);
        use Variant::{Fixed as F, Problem as P};
        assert_eq!(order, [P, F, F, P, P, F]);
    }
}
