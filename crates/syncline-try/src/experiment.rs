//! Rounds of runs, and what comes out of them.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use crate::interval::{Interval, median};
use crate::load::Load;
use crate::measure::Measure;
use crate::run::{Failed, Sample, run};

/// A variant may take so many times what the first one took at most, before it is given up: it
/// has lost.
const PATIENCE: u32 = 10;
/// Short runs may be slow for other reasons.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// A way to run the program.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// Variables that it adds to the environment.
    pub variables: Vec<(OsString, OsString)>,
}

/// What is to be run and compared.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// What the others are compared with.
    pub own: Variant,
    /// The others.
    pub others: Vec<Variant>,
    /// How many rounds.
    pub rounds: usize,
    /// What is compared.
    pub measure: Measure,
    /// How often any of the intervals may be wrong.
    pub miss: f64,
    /// The smallest difference that matters, as a share.
    pub matters: f64,
    /// What the program is put under, if it is a server.
    pub load: Option<Load>,
}

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// The median value of the first variant, in seconds or in what is printed.
    pub own: f64,
    /// How many rounds are complete.
    pub rounds: usize,
    /// The others, in their order.
    pub others: Vec<Comparison>,
}

/// A variant beside the first one.
#[derive(Debug)]
pub struct Comparison {
    /// What it is called.
    pub name: String,
    /// What is to be said of it.
    pub verdict: Verdict,
}

/// What is to be said of a variant. Gains are how many times better it is.
#[derive(Debug)]
pub enum Verdict {
    /// Better: the interval lies above 1.
    Better(f64, Interval),
    /// Worse: the interval lies below 1.
    Worse(f64, Interval),
    /// The interval contains 1, and no difference that matters.
    Same(f64, Interval),
    /// The interval contains 1 and differences that matter; about so many rounds would tell.
    Undecided(f64, Interval, usize),
    /// Too few rounds for an interval; the median gain.
    TooFew(f64),
    /// It failed.
    Failed(String),
}

/// A variant's values so far, one for each round; nothing more once it has failed.
struct Series {
    values: Vec<f64>,
    failed: Option<String>,
}

impl Experiment {
    /// Runs it. `progress` is called before each run with the variant's name; `interrupted` is
    /// asked all along, and ends the experiment with the rounds that are complete.
    ///
    /// # Errors
    /// If the first variant fails, or not even one round is complete.
    pub fn run(
        &self,
        mut progress: impl FnMut(&str),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Outcome, Failed> {
        let count = 1 + self.others.len();
        let mut all: Vec<_> =
            (0..count).map(|_| Series { values: Vec::new(), failed: None }).collect();
        let mut complete = 0;
        let mut longest = None;
        'rounds: for round in 0..self.rounds {
            let mut order: Vec<usize> = (0..count).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for which in order {
                let variant = if which == 0 { &self.own } else { &self.others[which - 1] };
                if all[which].failed.is_some() {
                    continue;
                }
                if interrupted() {
                    break 'rounds;
                }
                progress(&variant.name);
                // The first round begins with the first variant, so its time is known.
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
                    Err(failed) => all[which].failed = Some(failed.to_string()),
                }
            }
            complete += 1;
        }
        if complete == 0 {
            return Err(Failed::Interrupted);
        }
        Ok(self.outcome(all, complete))
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

    fn outcome(&self, mut all: Vec<Series>, complete: usize) -> Outcome {
        all.iter_mut().for_each(|series| series.values.truncate(complete));
        let others = all.split_off(1);
        let own = &all[0].values;
        let miss = self.miss / others.len().max(1) as f64;
        let compare = |(variant, series): (&Variant, Series)| {
            let gains: Vec<f64> =
                own.iter().zip(&series.values).map(|(&a, &b)| self.measure.gain(a, b)).collect();
            let verdict = match series.failed {
                Some(why) => Verdict::Failed(why),
                None => judge(&gains, middle(&series.values), miss, self.matters),
            };
            Comparison { name: variant.name.clone(), verdict }
        };
        let others = self.others.iter().zip(others).map(compare).collect();
        Outcome { own: middle(own), rounds: complete, others }
    }
}

/// Runs a command once, under a load if there is one; it may take as long as the limit says.
///
/// # Errors
/// If it fails, takes too long, or `interrupted` says so.
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

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median(&sorted)
}

/// What a variant's gains over the rounds say; `value` is its median value.
fn judge(gains: &[f64], value: f64, miss: f64, matters: f64) -> Verdict {
    let Some(interval) = Interval::of(gains, miss) else { return Verdict::TooFew(middle(gains)) };
    if interval.low > 1.0 {
        return Verdict::Better(value, interval);
    }
    if interval.high < 1.0 {
        return Verdict::Worse(value, interval);
    }
    if interval.low >= 1.0 / (1.0 + matters) && interval.high <= 1.0 + matters {
        return Verdict::Same(value, interval);
    }
    Verdict::Undecided(value, interval, enough(&interval, gains.len(), matters))
}

/// About how many rounds would tell: an interval is as wide as the root of its draws is small. It
/// tells when it leaves out 1, or else all that matters.
fn enough(interval: &Interval, rounds: usize, matters: f64) -> usize {
    let median = interval.median.ln().abs();
    let width = (interval.high / interval.median).ln().max((interval.median / interval.low).ln());
    let matters = matters.ln_1p();
    let narrow = median.max(matters - median).max(f64::MIN_POSITIVE);
    let wanted = (rounds as f64 * (width / narrow).powi(2)).ceil() as usize;
    // These did not tell, whatever the estimate says.
    wanted.max(rounds + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::Regex;
    use std::cell::Cell;

    fn variant(name: &str, value: &str) -> Variant {
        Variant { name: name.into(), variables: vec![("SPEED".into(), value.into())] }
    }

    /// A program whose figure is noise of a factor of two, the same for all of a round, and a
    /// factor of the variant's own: only pairs can tell.
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
            rounds,
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

    #[test]
    fn no_difference_is_said_only_if_none_that_matters_is_left() {
        // Gains that swing to both sides, by much and by little.
        let wild = [1.3, 0.8, 1.1, 0.9, 1.05, 0.97, 1.2, 0.85, 1.01];
        let tame = wild.map(|gain: f64| gain.powf(0.1));
        let Verdict::Undecided(_, interval, rounds) = judge(&wild, 1.0, 0.05, 0.05) else {
            panic!("0.85 to 1.2 leaves much open")
        };
        assert!((interval.low, interval.high) == (0.85, 1.2) && (50..500).contains(&rounds));
        assert!(matches!(judge(&tame, 1.0, 0.05, 0.05), Verdict::Same(..)));
        assert!(matches!(judge(&tame, 1.0, 0.05, 0.005), Verdict::Undecided(..)));
        assert!(matches!(judge(&wild[..5], 1.0, 0.05, 0.05), Verdict::TooFew(_)));
    }

    /// The estimate holds: with about so many rounds most experiments do tell.
    #[test]
    fn so_many_rounds_do_tell() {
        let mut random = fastrand::Rng::with_seed(11);
        for middle in [1.0, 1.03, 0.93] {
            let mut draws = |n: usize| -> Vec<f64> {
                let noise = |random: &mut fastrand::Rng| {
                    (0..12).map(|_| random.f64() - 0.5).sum::<f64>() * 0.08
                };
                (0..n).map(|_| middle * noise(&mut random).exp()).collect()
            };
            let mut told = 0;
            let mut asked = 0;
            while asked < 100 {
                if let Verdict::Undecided(_, _, rounds) = judge(&draws(12), 1.0, 0.05, 0.05) {
                    asked += 1;
                    let more = judge(&draws(rounds * 2), 1.0, 0.05, 0.05);
                    told += u32::from(!matches!(more, Verdict::Undecided(..)));
                }
            }
            assert!(told >= 60, "{told} of 100 at {middle}");
        }
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
