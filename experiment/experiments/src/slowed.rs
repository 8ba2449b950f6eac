//! Slows a program down at call sites, by delays of several sizes, and measures the response of the
//! run time.
//!
//! The first run has no delays and shows how often each call site is reached, which determines the
//! sizes of the delays. After it, runs with each size at each call site take turns with runs
//! without a delay.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;

use syncline_analysis::model::{Delayed, WhatIf};
use syncline_present::number::duration;
use syncline_statistics::Looks;
use syncline_targets::delays::{self, Added, sizes};
use syncline_targets::sites::{Target, most_frequent};
use syncline_try::{
    Comparison, Experiment, Failed, Load, Measure, Outcome, Sample, Step, Variant, Verdict, once,
};

use crate::counts::Counts;

const OWN: &str = "no delay";

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program without delays could not be run.
    #[error(transparent)]
    Run(#[from] Failed),
    /// The files with the counts could not be made or read.
    #[error(transparent)]
    Counts(#[from] io::Error),
    /// The program did not load the delay library.
    #[error("the program did not load the library that inserts the delays")]
    NotLoaded,
}

/// The parameters of the measurement.
pub struct Slowing {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The value of `LD_PRELOAD` with which the program loads the delay library.
    pub preload: OsString,
    /// The call sites, in the form that the delay library reads.
    pub places: String,
    /// The rate in hertz of the time-stamp counter, by which delays are measured.
    pub ticks_per_second: f64,
    /// How often the program runs with each delay.
    pub runs: usize,
    /// The size of the longest delay: the share of the run that all delays of this size take
    /// together.
    pub longest: f64,
    /// The measure by which runs are compared.
    pub measure: Measure,
    /// The load of the program, if it is a server.
    pub load: Option<Load>,
    /// The probability that any of the intervals is wrong.
    pub miss: f64,
}

/// A program that is ready to be slowed down.
pub struct Slowed {
    how: Slowing,
    /// The counts of runs without delays.
    own: Counts,
    /// The counts of runs with delays, for each size at each call site.
    others: Vec<Counts>,
}

/// The results of a measurement.
pub struct Measured {
    /// The targets that the first run reaches, each with the response of the run time.
    pub reached: Vec<(Target, WhatIf)>,
    /// The targets that the first run does not reach.
    pub unreached: Vec<Target>,
}

/// A call site that the first run reaches, with the operations that are delayed there.
struct Reached {
    /// The number of the call site, from 0.
    place: usize,
    target: Target,
    delayed: Delayed,
    /// How often the operations happened in the first run.
    times: u64,
    sizes: Vec<f64>,
}

impl Slowed {
    /// Makes the files with the counts for this many call sites, in a folder.
    ///
    /// # Errors
    /// [`Error::Counts`]
    pub fn new(how: Slowing, sites: usize, folder: &Path) -> Result<Slowed, Error> {
        let own = Counts::create(folder.join("own"))?;
        let other = |at: usize| Counts::create(folder.join(at.to_string()));
        let others = (0..sites * delays::COUNT).map(other).collect::<Result<_, _>>()?;
        Ok(Slowed { how, own, others })
    }

    /// Measures the targets that the first run reaches. `begun` is called before each run, with the
    /// run's name and the total number of runs.
    ///
    /// # Errors
    /// If the program without delays fails or does not load the delay library, if the counts can't
    /// be read, or if an interrupt came before a round was complete.
    pub fn measure(
        &self,
        targets: Vec<Target>,
        mut begun: impl FnMut(&str, usize),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Measured, Error> {
        begun(OWN, 1 + self.how.runs * (1 + delays::COUNT * targets.len()));
        let first = self.first_run(interrupted)?;
        let (reached, unreached) = self.reached(targets, &first)?;
        let mut measured = Vec::new();
        if !reached.is_empty() {
            let all = 1 + self.how.runs * (1 + delays::COUNT * reached.len());
            let outcome = self.experiment(&reached, |step| begun(step.name, all), interrupted)?;
            for (number, one) in reached.into_iter().enumerate() {
                let whatif = self.outcome(&one, number, &outcome, &first)?;
                measured.push((one.target, whatif));
            }
        }
        Ok(Measured { reached: measured, unreached })
    }

    /// The variant with a delay of one of the sizes at a call site, or with none.
    fn variant(&self, name: String, delay: Option<(&Reached, usize)>) -> Variant {
        let (place, kind, ticks) = delay.map_or((0, 0, 0), |(one, size)| {
            let ticks = (one.sizes[size] * 1e-9 * self.how.ticks_per_second).round() as u64;
            (1 + one.place, one.delayed as u8, ticks)
        });
        let counts = delay.map_or(&self.own, |(one, size)| self.counts(one, size));
        let variable = |name: &str, value: &OsStr| (name.into(), value.to_owned());
        let variables = vec![
            variable("LD_PRELOAD", &self.how.preload),
            variable("SYNCLINE_DELAY", format!("{place} {kind} {ticks}").as_ref()),
            variable("SYNCLINE_DELAY_PLACES", self.how.places.as_ref()),
            variable("SYNCLINE_DELAY_COUNTS", counts.path().as_os_str()),
        ];
        Variant { name, variables }
    }

    fn counts(&self, one: &Reached, size: usize) -> &Counts {
        &self.others[one.place * delays::COUNT + size]
    }

    /// Makes the first run, which shows how long a run takes, and how often it reaches each call
    /// site.
    fn first_run(&self, interrupted: impl Fn() -> bool + Copy) -> Result<Sample, Failed> {
        let mut command = Command::new(&self.how.command[0]);
        let own = self.variant(OWN.to_owned(), None);
        command.args(&self.how.command[1..]).envs(own.variables);
        once(&mut command, self.how.load.as_ref(), None, interrupted)
    }

    /// The call sites that the first run reaches, and the targets that it does not reach.
    fn reached(
        &self,
        targets: Vec<Target>,
        first: &Sample,
    ) -> Result<(Vec<Reached>, Vec<Target>), Error> {
        if self.own.processes()? == 0 {
            return Err(Error::NotLoaded);
        }
        let (mut reached, mut unreached) = (Vec::new(), Vec::new());
        for (place, target) in targets.into_iter().enumerate() {
            let of = |delayed| self.own.of(place, delayed);
            let delayed = match target.delayed {
                Some(delayed) => delayed,
                None => most_frequent(of(Delayed::Section)?, of(Delayed::Try)?, of(Delayed::Wait)?),
            };
            let times = of(delayed)?;
            if times == 0 {
                unreached.push(target);
                continue;
            }
            let sizes = sizes(times as f64 / self.seconds(first), self.how.longest);
            reached.push(Reached { place, target, delayed, times, sizes });
        }
        Ok((reached, unreached))
    }

    /// The time of a run to which delays are added: its processor time if that is compared,
    /// otherwise its elapsed time.
    fn seconds(&self, sample: &Sample) -> f64 {
        match self.how.measure {
            Measure::Processor => sample.processor_seconds,
            _ => sample.seconds,
        }
    }

    /// Makes the runs: each size at each call site, in turn with runs without a delay.
    fn experiment(
        &self,
        reached: &[Reached],
        begun: impl FnMut(Step<'_>),
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Outcome, Failed> {
        let others = reached.iter().flat_map(|one| {
            one.sizes.iter().enumerate().map(move |(size, &nanoseconds)| {
                let name = format!("{} more at {}", duration(nanoseconds * 1e-9), one.target.place);
                self.variant(name, Some((one, size)))
            })
        });
        let experiment = Experiment {
            command: self.how.command.clone(),
            own: self.variant(OWN.to_owned(), None),
            others: others.collect(),
            looks: Looks::once(self.how.runs),
            measure: self.how.measure.clone(),
            miss: self.how.miss,
            // No difference is judged here; the results are fitted later.
            matters: 0.0,
            load: self.how.load.clone(),
        };
        experiment.run(begun, interrupted)
    }

    /// How often the operation happens in a run without delays: the mean over all of these runs, or
    /// the number of the first run if the experiment was cut short.
    fn times(&self, one: &Reached, rounds: usize) -> io::Result<f64> {
        if rounds < self.how.runs {
            return Ok(one.times as f64);
        }
        // The counts are those of the first run, and of one run of each round.
        Ok(self.own.of(one.place, one.delayed)? as f64 / (1 + rounds) as f64)
    }

    /// For each size, the length of all delays of a run together, as a share of a run without
    /// delays. The elapsed length is used if runs are compared by elapsed time and all runs were
    /// made; otherwise the nominal length is used. (On a machine with other work, both the delays
    /// and the run take longer.)
    fn added(
        &self,
        one: &Reached,
        times: f64,
        seconds: f64,
        rounds: usize,
    ) -> io::Result<Vec<f64>> {
        let compares_time = matches!(self.how.measure, Measure::Wall);
        let added = |(size, &nanoseconds): (usize, &f64)| {
            if !compares_time || rounds < self.how.runs {
                return Ok(nanoseconds * 1e-9 * times / seconds);
            }
            let passed = self.counts(one, size).passed()? as f64;
            Ok(passed / self.how.ticks_per_second / rounds as f64 / seconds)
        };
        one.sizes.iter().enumerate().map(added).collect()
    }

    /// The result for a call site. `number` is its index among the call sites that the first run
    /// reaches.
    fn outcome(
        &self,
        one: &Reached,
        number: usize,
        outcome: &Outcome,
        first: &Sample,
    ) -> io::Result<WhatIf> {
        let times = self.times(one, outcome.rounds)?;
        let measure = &self.how.measure;
        let seconds = match measure {
            Measure::Wall | Measure::Processor => outcome.own,
            Measure::Printed { .. } | Measure::Made { .. } => self.seconds(first),
        };
        let of_place: Vec<&Comparison> =
            outcome.others.iter().skip(number * delays::COUNT).take(delays::COUNT).collect();
        let failed = of_place.iter().find_map(|comparison| match &comparison.verdict {
            Verdict::Failed(why) => Some(why.clone()),
            _ => None,
        });
        let costs = |values: &[f64]| values.iter().map(|&v| measure.cost(v)).collect::<Vec<_>>();
        let added = Added {
            nanoseconds: &one.sizes,
            added: self.added(one, times, seconds, outcome.rounds)?,
            own: costs(&outcome.values),
            others: of_place.iter().map(|comparison| costs(&comparison.values)).collect(),
        };
        let miss = self.how.miss / (2 * outcome.others.len() / delays::COUNT).max(1) as f64;
        let follows = if failed.is_some() { None } else { added.follows(miss) };
        let section = one.target.section.filter(|_| one.delayed == Delayed::Section);
        let mut whatif = WhatIf {
            place: one.target.place.clone(),
            calls: one.target.calls.clone(),
            delayed: one.delayed,
            times,
            seconds,
            sizes: added.sizes(),
            rounds: outcome.rounds,
            follows,
            failed,
            section_nanoseconds: section.map(|seconds| seconds * 1e9),
            saves_at_most: None,
            predicted: one.target.predicted,
        };
        whatif.saves_at_most = delays::saves_at_most(&whatif);
        Ok(whatif)
    }
}
