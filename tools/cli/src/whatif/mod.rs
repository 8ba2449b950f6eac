//! `syncline whatif`: slows places of a program down, and says how the run follows.

pub mod args;
mod counts;
mod document;
mod recorded;
mod show;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io::{Write, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering::Relaxed;

use indicatif::ProgressBar;
use syncline_analysis::model::{Delayed, WhatIf};
use syncline_policy::{Files, Plan, Remark};
use syncline_present::number::duration;
use syncline_recording::layout::CLOCK_TSC;
use syncline_statistics::{Looks, fewest};
use syncline_targets::delays::{self, Added, sizes};
use syncline_targets::sites::{Target, most_frequent};
use syncline_try::{
    Comparison, Experiment, Failed, Measure, Outcome, Sample, Variant, Verdict, once,
};

use crate::attempt::{MISS, begin, notice_interrupts, progress_bar};
use crate::exec::files;
use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};
use crate::quoted::typed;
use crate::record::{Clock, find_library, find_program, preload};
use crate::terminal::style;
use counts::Counts;
use document::Document;
pub use document::add_to;
use recorded::{Recorded, targets};

/// The library that delays.
const LIBRARY: &str = "libsyncline_delay.so";
/// Names another library instead, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_DELAY_LIBRARY";
const OWN: &str = "no delay";

/// A program that is ready to be slowed down at its places.
struct Slowed<'a> {
    args: &'a args::WhatIf,
    /// The program and its arguments.
    command: Vec<OsString>,
    places: String,
    library: PathBuf,
    ticks_per_second: f64,
    /// Of runs without delays.
    own: Counts,
    /// Of runs with delays: of each place, each size.
    others: Vec<Counts>,
}

/// A place, with what is delayed there and how often that comes in a run.
struct Reached {
    /// From 0.
    place: usize,
    target: Target,
    delayed: Delayed,
    /// In the first run.
    times: u64,
    sizes: Vec<f64>,
}

/// Slows places down, and prints what came of it.
pub fn run(args: &args::WhatIf) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let library = find_library(LIBRARY, OVERRIDE)?;
    let recorded = Recorded::of(args)?;
    let targets = targets(args, recorded.as_ref())?;
    // The process that the places are in may be one that the command starts.
    let slowed_file = recorded.as_ref().and_then(Recorded::executable).unwrap_or(&program);
    let places = places(&targets, &files(slowed_file)?)?;
    let failed = |e: std::io::Error| Failure::new(RECORD_FAILED, e);
    let interrupted = notice_interrupts().map_err(failed)?;
    let interrupted = || interrupted.load(Relaxed);
    let passable = Permissions::from_mode(0o711);
    let folder = tempfile::Builder::new().permissions(passable).tempdir().map_err(failed)?;
    let mut command = args.program.command.clone();
    command[0] = program.clone().into();
    let slowed = Slowed {
        args,
        command,
        places,
        library,
        ticks_per_second: ticks_per_second()?,
        own: Counts::create(folder.path().join("own")).map_err(failed)?,
        others: (0..targets.len() * delays::COUNT)
            .map(|at| Counts::create(folder.path().join(at.to_string())))
            .collect::<Result<_, _>>()
            .map_err(failed)?,
    };
    let bar = progress_bar(1 + args.runs * (1 + delays::COUNT * targets.len()));
    begin(&bar, OWN);
    let first = slowed.first_run(interrupted)?;
    let (reached, unreached) = slowed.reached(targets, &first)?;
    let mut measured = Vec::new();
    if !reached.is_empty() {
        let outcome = slowed.experiment(&reached, &bar, interrupted)?;
        for (number, one) in reached.into_iter().enumerate() {
            let whatif = slowed.outcome(&one, number, &outcome, &first)?;
            measured.push((one.target, whatif));
        }
    }
    bar.finish_and_clear();
    let command = args.program.command.iter().map(|word| word.to_string_lossy().into_owned());
    let executable = slowed_file.to_string_lossy().into_owned();
    let all = measured.iter().map(|(_, whatif)| whatif.clone()).collect();
    let document = Document::new(command.collect(), executable, all);
    print(args, &document, &measured, &unreached)?;
    if let Some(recorded) = recorded.filter(|_| !measured.is_empty()) {
        save(&document, &recorded)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What the library is told of the places.
fn places(targets: &[Target], files: &Files) -> Result<String, Failure> {
    let names: Vec<Vec<String>> = targets.iter().map(|target| target.calls.clone()).collect();
    let plan = Plan::of_places(&names, files).map_err(|e| Failure::message(RECORD_FAILED, e))?;
    let found = |number: usize| {
        plan.remarks.iter().filter(|remark| remark.line == number).count() < names[number - 1].len()
    };
    match plan.remarks.iter().find(|remark| !found(remark.line)) {
        None => Ok(plan.variable),
        Some(Remark { name, .. }) => {
            let message = format!("`{name}` is no call site in {}", files.program());
            Err(Failure::message(RECORD_FAILED, message)
                .hint("`syncline report --tables` lists the call sites that acquire locks"))
        }
    }
}

/// The counter that delays are measured with.
fn ticks_per_second() -> Result<f64, Failure> {
    let clock = Clock::choose();
    match clock.kind {
        CLOCK_TSC => Ok(clock.ticks_per_second as f64),
        _ => Err(Failure::message(
            CANNOT_RECORD,
            "this machine's time-stamp counter can't be trusted, and delays are measured with it",
        )),
    }
}

impl Slowed<'_> {
    /// The variables for a delay of one of the sizes at a place, or for none.
    fn variant(&self, name: String, delay: Option<(&Reached, usize)>) -> Variant {
        let (place, kind, ticks) = delay.map_or((0, 0, 0), |(one, size)| {
            let ticks = (one.sizes[size] * 1e-9 * self.ticks_per_second).round() as u64;
            (1 + one.place, one.delayed as u8, ticks)
        });
        let counts = delay.map_or(&self.own, |(one, size)| self.counts(one, size));
        let preload = preload(&self.library, env::var_os("LD_PRELOAD").as_deref());
        let variable = |name: &str, value: &OsStr| (name.into(), value.to_owned());
        let variables = vec![
            variable("LD_PRELOAD", &preload),
            variable("SYNCLINE_DELAY", format!("{place} {kind} {ticks}").as_ref()),
            variable("SYNCLINE_DELAY_PLACES", self.places.as_ref()),
            variable("SYNCLINE_DELAY_COUNTS", counts.path().as_os_str()),
        ];
        Variant { name, variables }
    }

    fn counts(&self, one: &Reached, size: usize) -> &Counts {
        &self.others[one.place * delays::COUNT + size]
    }

    /// The first run: how long it takes, and how often it comes where.
    fn first_run(&self, interrupted: impl Fn() -> bool + Copy) -> Result<Sample, Failure> {
        let mut command = Command::new(&self.command[0]);
        let own = self.variant(OWN.to_owned(), None);
        command.args(&self.command[1..]).envs(own.variables);
        let load = self.args.measuring.load();
        let sample = once(&mut command, load.as_ref(), None, interrupted);
        sample.map_err(|failed| self.explain(failed))
    }

    fn explain(&self, failed: Failed) -> Failure {
        let status = match failed {
            Failed::Start(_) => CANNOT_RECORD,
            _ => RECORD_FAILED,
        };
        let program = self.args.program.command[0].display();
        match failed {
            Failed::Interrupted => {
                Failure::message(status, "interrupted before anything was measured")
            }
            _ => Failure::message(status, format!("{program} without delays {failed}"))
                .hint("run it without Syncline first; its standard input is empty here"),
        }
    }

    /// The places that a run comes to, and the others.
    fn reached(
        &self,
        targets: Vec<Target>,
        first: &Sample,
    ) -> Result<(Vec<Reached>, Vec<Target>), Failure> {
        let failed = |e: std::io::Error| Failure::new(RECORD_FAILED, e);
        if self.own.processes().map_err(failed)? == 0 {
            return Err(Failure::message(
                CANNOT_RECORD,
                "the program did not load the library that inserts the delays",
            )
            .hint("`syncline record -- PROGRAM` says why a library can't be preloaded"));
        }
        let (mut reached, mut unreached) = (Vec::new(), Vec::new());
        for (place, target) in targets.into_iter().enumerate() {
            let of = |delayed| self.own.of(place, delayed).map_err(failed);
            let delayed = match target.delayed {
                Some(delayed) => delayed,
                None => most_frequent(of(Delayed::Section)?, of(Delayed::Try)?, of(Delayed::Wait)?),
            };
            let times = of(delayed)?;
            if times == 0 {
                unreached.push(target);
                continue;
            }
            let rate = times as f64 / self.seconds(first);
            let sizes = sizes(rate, self.args.longest / 100.0);
            reached.push(Reached { place, target, delayed, times, sizes });
        }
        Ok((reached, unreached))
    }

    /// What delays are added to: the time that is compared, or that of a run whose figure is.
    fn seconds(&self, sample: &Sample) -> f64 {
        match self.args.measuring.measure() {
            Measure::Processor => sample.processor_seconds,
            _ => sample.seconds,
        }
    }

    /// All places in all sizes, in turn with runs without a delay.
    fn experiment(
        &self,
        reached: &[Reached],
        bar: &ProgressBar,
        interrupted: impl Fn() -> bool + Copy,
    ) -> Result<Outcome, Failure> {
        let others = reached.iter().flat_map(|one| {
            one.sizes.iter().enumerate().map(move |(size, &nanoseconds)| {
                let name = format!("{} more at {}", duration(nanoseconds * 1e-9), one.target.place);
                self.variant(name, Some((one, size)))
            })
        });
        let experiment = Experiment {
            command: self.command.clone(),
            own: self.variant(OWN.to_owned(), None),
            others: others.collect(),
            looks: Looks::once(self.args.runs),
            measure: self.args.measuring.measure(),
            miss: MISS,
            // Nothing is judged here: what comes of it is fitted.
            matters: 0.0,
            load: self.args.measuring.load(),
        };
        bar.set_length((1 + self.args.runs * (1 + experiment.others.len())) as u64);
        let outcome = experiment.run(|step| begin(bar, step.name), interrupted);
        outcome.map_err(|failed| self.explain(failed))
    }

    /// How often it comes in a run without delays: the mean of all of them, unless one was cut short.
    fn times(&self, one: &Reached, rounds: usize) -> Result<f64, Failure> {
        if rounds < self.args.runs {
            return Ok(one.times as f64);
        }
        let counted = self.own.of(one.place, one.delayed);
        let counted = counted.map_err(|e| Failure::new(RECORD_FAILED, e))?;
        // The first run, and one of each round.
        Ok(counted as f64 / (1 + rounds) as f64)
    }

    /// For each size, what all delays of a run are of a run without: what they are meant to be, or if
    /// it is the time that is compared, what has passed in them, which is longer where the machine has
    /// other work, as the run is.
    fn added(
        &self,
        one: &Reached,
        times: f64,
        seconds: f64,
        rounds: usize,
    ) -> Result<Vec<f64>, Failure> {
        let compares_time = matches!(self.args.measuring.measure(), Measure::Wall);
        let added = |(size, &nanoseconds): (usize, &f64)| {
            if !compares_time || rounds < self.args.runs {
                return Ok(nanoseconds * 1e-9 * times / seconds);
            }
            let passed = self.counts(one, size).passed();
            let passed = passed.map_err(|e| Failure::new(RECORD_FAILED, e))? as f64;
            Ok(passed / self.ticks_per_second / rounds as f64 / seconds)
        };
        one.sizes.iter().enumerate().map(added).collect()
    }

    /// What the experiment says of the place with this number among those that were reached.
    fn outcome(
        &self,
        one: &Reached,
        number: usize,
        outcome: &Outcome,
        first: &Sample,
    ) -> Result<WhatIf, Failure> {
        let times = self.times(one, outcome.rounds)?;
        let measure = self.args.measuring.measure();
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
        let miss = MISS / (2 * outcome.others.len() / delays::COUNT).max(1) as f64;
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

fn print(
    args: &args::WhatIf,
    document: &Document,
    measured: &[(Target, WhatIf)],
    unreached: &[Target],
) -> Result<(), Failure> {
    let text = match args.json {
        true => serde_json::to_string_pretty(document).map(|text| text + "\n"),
        false => {
            let enough = fewest(MISS / (2 * measured.len()).max(1) as f64);
            Ok(show::table(measured, unreached, enough, &style()))
        }
    };
    let text = text.map_err(|e| Failure::new(RECORD_FAILED, e))?;
    stdout().write_all(text.as_bytes()).map_err(|e| Failure::new(RECORD_FAILED, e))
}

/// Leaves it where reports find it.
fn save(document: &Document, recorded: &Recorded) -> Result<(), Failure> {
    let saved = document.save(&recorded.path).map_err(|error| {
        let context = format!("can't write to {}", recorded.path.display());
        Failure::new(RECORD_FAILED, anyhow::Error::new(error).context(context))
    })?;
    if saved.is_some() {
        // Standard error may be closed; it is saved all the same.
        let shown = typed(&recorded.path);
        let _ = writeln!(stderr(), "syncline: `syncline report {shown}` shows this as well");
    }
    Ok(())
}
