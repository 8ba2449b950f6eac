//! Rounds of runs, and their results.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use syncline_statistics::Looks;

use crate::load::Load;
use crate::measure::Measure;
use crate::run::{Failed, Sample, run};
use crate::verdict::{Verdict, give_up, judge, middle};

/// A run of another variant fails if it takes more than this many times as long as the longest run
/// of the first variant.
const PATIENCE: u32 = 10;
/// The least time after which a run fails, since short runs may be slow for other reasons.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// A way to run the program.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The variant's name.
    pub name: String,
    /// Variables that it adds to the environment.
    pub variables: Vec<(OsString, OsString)>,
}

/// The runs to make and compare.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The variant that the others are compared with.
    pub own: Variant,
    /// The other variants.
    pub others: Vec<Variant>,
    /// The numbers of rounds after which the results are judged; the experiment ends when every
    /// variant has a verdict.
    pub looks: Looks,
    /// The measure by which runs are compared.
    pub measure: Measure,
    /// The probability that any of the intervals is wrong.
    pub miss: f64,
    /// The smallest difference that matters, as a share.
    pub matters: f64,
    /// The load of the program, if it is a server.
    pub load: Option<Load>,
}

/// The results of an experiment.
#[derive(Debug)]
pub struct Outcome {
    /// The median value of the first variant, in seconds or in the unit of the printed number.
    pub own: f64,
    /// The first variant's values, one for each complete round.
    pub values: Vec<f64>,
    /// The number of complete rounds.
    pub rounds: usize,
    /// The results of the other variants, in their order.
    pub others: Vec<Comparison>,
}

/// The result of a variant other than the first one.
#[derive(Debug)]
pub struct Comparison {
    /// The variant's name.
    pub name: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The number of rounds after which it was judged.
    pub rounds: usize,
    /// Its values in these rounds, like [`Outcome::values`].
    pub values: Vec<f64>,
}

/// A run that begins.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The variant's name.
    pub name: &'a str,
    /// The number of runs until the results are next judged, including this one.
    pub left: usize,
}

/// A variant's values so far, one for each round until there is a verdict.
#[derive(Default)]
struct Series {
    values: Vec<f64>,
    verdict: Option<Verdict>,
}

impl Experiment {
    /// Makes the runs. `progress` is called before each run. `interrupted` is checked throughout;
    /// if it returns `true`, the experiment ends with the rounds that are complete.
    ///
    /// # Errors
    /// If the first variant fails, or not even one round is complete.
    pub fn run(
        &self,
        mut progress: impl FnMut(Step<'_>),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Outcome, Failed> {
        let miss = self.miss / self.others.len().max(1) as f64;
        let cuts = self.looks.cuts(miss);
        let mut all: Vec<Series> = Vec::new();
        all.resize_with(1 + self.others.len(), Series::default);
        let mut complete = 0;
        let mut longest = None;
        'rounds: while let Some(look) = self.looks.after(complete) {
            let mut order: Vec<usize> = (0..all.len()).collect();
            if complete % 2 == 1 {
                order.reverse();
            }
            order.retain(|&which| all[which].verdict.is_none());
            for (done, &which) in order.iter().enumerate() {
                let variant = if which == 0 { &self.own } else { &self.others[which - 1] };
                if interrupted() {
                    break 'rounds;
                }
                let left = (look - complete) * order.len() - done;
                progress(Step { name: &variant.name, left });
                // The first round begins with the first variant, so its time is known before the
                // others run.
                let limit = longest.map(|longest: Duration| LEAST_PATIENCE.max(longest * PATIENCE));
                match self.run_one(variant, limit.filter(|_| which != 0), interrupted) {
                    Ok((sample, value)) => {
                        all[which].values.push(value);
                        if which == 0 {
                            let time = Duration::from_secs_f64(sample.seconds);
                            longest = longest.max(Some(time));
                        }
                    }
                    Err(Failed::Interrupted) => break 'rounds,
                    Err(failed) if which == 0 => return Err(failed),
                    Err(failed) => all[which].verdict = Some(Verdict::Failed(failed.to_string())),
                }
            }
            complete += 1;
            if let Some(&(_, cut)) = cuts.iter().find(|&&(rounds, _)| rounds == complete) {
                self.look(&mut all, cut, complete);
                if all[1..].iter().all(|series| series.verdict.is_some()) {
                    break;
                }
            }
        }
        if complete == 0 {
            return Err(Failed::Interrupted);
        }
        // After an interrupt, the results are those of the complete rounds.
        let cut = self.looks.ended(complete).cuts(miss).last().and_then(|&(_, cut)| cut);
        Ok(self.outcome(all, cut, complete))
    }

    /// Gives verdicts that are certain, or at the last look all verdicts, and stops variants that
    /// need not continue.
    fn look(&self, all: &mut [Series], cut: Option<usize>, complete: usize) {
        let (own, others) = all.split_at_mut(1);
        let is_last = complete >= self.looks.most();
        for series in others.iter_mut().filter(|series| series.verdict.is_none()) {
            let verdict = self.judged(&own[0], series, cut, complete);
            let is_open = matches!(verdict, Verdict::Undecided(..) | Verdict::TooFew(_));
            series.verdict = (is_last || !is_open).then_some(verdict);
        }
        let better = self.others.iter().zip(&*others).filter_map(|(variant, series)| {
            let Some(Verdict::Better(_, interval)) = series.verdict else { return None };
            Some((&*variant.name, interval.median))
        });
        let best = better.max_by(|a, b| a.1.total_cmp(&b.1));
        for series in others.iter_mut().filter(|series| series.verdict.is_none()) {
            let gains = self.gains(&own[0], series);
            let why = give_up(&gains, best, self.matters);
            series.verdict = why.map(|why| Verdict::GivenUp(middle(&gains), why));
        }
    }

    fn gains(&self, own: &Series, series: &Series) -> Vec<f64> {
        let pairs = own.values.iter().zip(&series.values);
        pairs.map(|(&own, &value)| self.measure.gain(own, value)).collect()
    }

    fn judged(&self, own: &Series, series: &Series, cut: Option<usize>, rounds: usize) -> Verdict {
        let gains = self.gains(own, series);
        judge(&gains[..rounds], middle(&series.values[..rounds]), cut, self.matters)
    }

    fn run_one(
        &self,
        variant: &Variant,
        limit: Option<Duration>,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<(Sample, f64), Failed> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).envs(variant.variables.iter().cloned());
        let sample = once(&mut command, self.load.as_ref(), limit, interrupted)?;
        let value = self.measure.of(&sample);
        let value = value.map_err(|e| Failed::Status("status 0".into(), format!(", but {e}")))?;
        Ok((sample, value))
    }

    fn outcome(&self, mut all: Vec<Series>, cut: Option<usize>, complete: usize) -> Outcome {
        let others = all.split_off(1);
        let own = &all[0];
        let compare = |(variant, series): (&Variant, Series)| {
            let rounds = series.values.len().min(complete);
            let verdict = match series.verdict {
                Some(verdict) => verdict,
                None => self.judged(own, &series, cut, complete),
            };
            let values = series.values[..rounds].to_vec();
            Comparison { name: variant.name.clone(), verdict, rounds, values }
        };
        let others = self.others.iter().zip(others).map(compare).collect();
        let values = own.values[..complete].to_vec();
        Outcome { own: middle(&values), values, rounds: complete, others }
    }
}

/// Runs a command once, under a load if there is one, for at most the time `limit`.
///
/// # Errors
/// If the run fails, takes too long, or is interrupted.
pub fn once(
    command: &mut Command,
    load: Option<&Load>,
    limit: Option<Duration>,
    interrupted: impl Fn() -> bool + Copy,
) -> Result<Sample, Failed> {
    match load {
        None => run(command, limit, interrupted),
        Some(load) => load.run(command, limit, interrupted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Why;
    use regex::bytes::Regex;
    use std::cell::Cell;

    fn variant(name: &str, value: &str) -> Variant {
        Variant { name: name.into(), variables: vec![("SPEED".into(), value.into())] }
    }

    /// A program that prints a figure. Noise changes the figure by up to a factor of two, alike for
    /// a whole round, and each variant has a factor of its own: only ratios within a round can show
    /// the latter.
    fn experiment(rounds: usize, others: &[(&str, &str)], folder: &std::path::Path) -> Experiment {
        let text = r#"
            case $SPEED in fail) exit 9;; esac
            n=$(cat "$0/$SPEED" 2>/dev/null || echo 0); echo $((n + 1)) >"$0/$SPEED"
            noise=$((100 + n * 37 % 100))
            jitter=$((n * 13 % 7 - 3))
            echo "figure $((noise * SPEED + jitter))""#;
        Experiment {
            command: ["/bin/sh".into(), "-c".into(), text.into(), folder.into()].into(),
            own: variant("own", "1000"),
            others: others.iter().map(|(name, value)| variant(name, value)).collect(),
            looks: Looks::once(rounds),
            measure: Measure::Printed {
                pattern: Regex::new(r"figure (\d+)").unwrap(),
                less: false,
            },
            miss: 0.05,
            matters: 0.05,
            load: None,
        }
    }

    #[test]
    fn what_is_faster_slower_and_broken_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let others = [("fast", "1100"), ("slow", "900"), ("bad", "fail")];
        let outcome = experiment(9, &others, folder.path()).run(|_| (), || false).unwrap();
        assert_eq!(outcome.rounds, 9);
        let verdicts: Vec<_> = outcome.others.iter().map(|other| &other.verdict).collect();
        assert!(matches!(verdicts[0], Verdict::Better(_, i) if (1.09..1.11).contains(&i.median)));
        assert!(matches!(verdicts[1], Verdict::Worse(_, i) if (0.89..0.91).contains(&i.median)));
        assert!(matches!(verdicts[2], Verdict::Failed(why) if why.contains("status 9")));
    }

    /// A decided variant is not run again. A variant that stays undecided is run to the end.
    #[test]
    fn it_goes_on_where_nothing_is_decided_and_only_there() {
        let folder = tempfile::tempdir().unwrap();
        let others = [("fast", "1100"), ("slow", "900"), ("less", "1050"), ("bad", "fail")];
        let mut experiment = experiment(8, &others, folder.path());
        experiment.looks = Looks::several(8, 24);
        let mut steps = Vec::new();
        let outcome = experiment.run(|step| steps.push(step.left), || false).unwrap();
        // Four variants and this many looks need more than eight rounds.
        let needed = experiment.looks.says(0.05 / 4.0).unwrap();
        assert!(needed > 8 && outcome.rounds == needed, "{outcome:?}");
        assert!(matches!(outcome.others[0].verdict, Verdict::Better(..)));
        assert!(matches!(&outcome.others[1].verdict, Verdict::GivenUp(_, Why::TooLittle)));
        assert_eq!(
            outcome.others.iter().map(|o| o.rounds).collect::<Vec<_>>(),
            [needed, 8, needed, 0]
        );
        // There are five variants at first, one of which fails at once; after the first look, three
        // are left.
        assert_eq!(steps[..6], [40, 39, 38, 37, 36, 28]);
        assert_eq!(steps.last(), Some(&1));

        // Too few rounds to decide anything, so the experiment continues to its end.
        let folder = tempfile::tempdir().unwrap();
        let mut few = super::tests::experiment(2, &[("fast", "1100")], folder.path());
        few.looks = Looks::several(2, 4);
        let outcome = few.run(|_| (), || false).unwrap();
        assert_eq!((outcome.rounds, outcome.others[0].rounds), (4, 4));
        assert!(matches!(outcome.others[0].verdict, Verdict::TooFew(_)), "{outcome:?}");
    }

    #[test]
    fn an_interrupt_keeps_the_rounds_that_are_complete() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Cell::new(0);
        let outcome = experiment(50, &[("fast", "1100")], folder.path())
            .run(|_| runs.set(runs.get() + 1), || runs.get() >= 16)
            .unwrap();
        assert!((7..=8).contains(&outcome.rounds), "{}", outcome.rounds);
        assert!(matches!(outcome.others[0].verdict, Verdict::Better(..)));
        let none = experiment(50, &[], folder.path()).run(|_| (), || true);
        assert!(matches!(none, Err(Failed::Interrupted)));
    }

    #[test]
    fn a_program_that_fails_by_itself_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut experiment = experiment(3, &[("fast", "1100")], folder.path());
        experiment.own = variant("own", "fail");
        let failed = experiment.run(|_| (), || false).unwrap_err();
        assert!(failed.to_string().contains("status 9"), "{failed}");
    }
}
