//! Compares the simulator with this machine. The same tests run on one to three of its processors,
//! and on a simulation of the description that the probe makes of these processors.
//!
//! 1. The ladder's access patterns ([`syncline_study::ladder`]), in nanoseconds.
//! 2. Atomic operations, locks, channels and tables, in millions of operations per second.
//!
//! A hypervisor moves the processors every few seconds. Then a transfer of a line may take three
//! times as long as before, or a third of the time. So the probe's load of a changed line is
//! measured before and after each run. If the two loads differ by more than a fifth, the run is
//! repeated. If the load differs from the one in the description, the machine is described again.

use anyhow::Context as _;
use serde::Serialize;
use syncline_probe::bench::{Bench as _, NativeBench};
use syncline_probe::{Effort, changed_line, describe, measure};
use syncline_sim::Machine;
use syncline_study::bench::{
    self, Comparison, Request, SERVERS, Shown, calibrated, calibrations_agree, channels_known,
    error_percent, within_percent,
};
use syncline_study::ladder;
use syncline_study::stress::atomics::Operation;
use syncline_study::stress::contenders;
use syncline_study::stress::table::Shape;
use syncline_study::stress::{Homes, Load, Pause};
use syncline_study::target::Target;
use syncline_study::world::{Here, Placement};

use crate::size::Size;

/// The fields of the last line of `simulator --compare`.
pub const FIELDS: &str = "\
error_percent         median difference over all tests
within_30_percent     percentage of tests that are off by at most 30 %
ladder_error_percent  median difference over the access patterns alone
tests                 number of tests
unsteady              number of tests without a steady run
";

#[derive(Serialize)]
struct Line {
    error_percent: f64,
    within_30_percent: f64,
    ladder_error_percent: f64,
    tests: usize,
    unsteady: usize,
}

/// The kind of a test. The tables are small and contended: they have 12 buckets.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Ladder,
    Atomics,
    Locks,
    Channels,
    Tables,
}

impl Kind {
    /// All kinds, with their names.
    const ALL: [(Kind, &str); 5] = [
        (Kind::Ladder, "access patterns, nanoseconds"),
        (Kind::Atomics, "atomic operations, million a second"),
        (Kind::Locks, "locks with a line of data, million acquisitions a second"),
        (Kind::Channels, "channels, million messages a second"),
        (Kind::Tables, "tables of 12 buckets by lock, million operations a second"),
    ];

    /// The names of this kind's tests, each with its number of threads.
    fn tests(self, here: &Target) -> Vec<(String, usize)> {
        let locks = || contenders::all::<Here>().into_iter().map(|contender| contender.name);
        let names: Vec<String> = match self {
            Kind::Ladder => {
                let names = ladder::names(here).into_iter();
                return names.map(|(name, threads)| (name.to_owned(), threads)).collect();
            }
            Kind::Atomics => Operation::ALL.map(|one| one.name().to_owned()).into(),
            Kind::Locks => locks().map(str::to_owned).collect(),
            Kind::Channels => channels_known().into(),
            Kind::Tables => locks().chain([SERVERS]).map(str::to_owned).collect(),
        };
        names.into_iter().map(|name| (name, 2)).collect()
    }
}

/// The amount of measuring.
struct Amount {
    /// The number of tests of each kind.
    tests: usize,
    /// The number of turns on this machine, and on a simulated one.
    rounds: [u32; 2],
    /// The seconds of a test on this machine, and on a simulated one.
    seconds: [f64; 2],
    repetitions: usize,
    effort: Effort,
}

impl Amount {
    fn of(size: Size) -> Amount {
        let amount = |tests, rounds, seconds, repetitions, effort| Amount {
            tests,
            rounds,
            seconds,
            repetitions,
            effort,
        };
        size.pick(
            amount(1, [20, 20], [20e-3, 10e-6], 1, Effort::QUICK),
            amount(usize::MAX, [20_000, 500], [0.02, 200e-6], 2, Effort::QUICK),
            amount(usize::MAX, [50_000, 2_000], [0.1, 400e-6], 3, Effort::FULL),
        )
    }
}

/// Runs all tests on this machine and on the simulated one, and prints the differences.
///
/// # Errors
/// If there are fewer than two processors, or they can't be measured.
pub fn run(size: Size) -> anyhow::Result<String> {
    let amount = Amount::of(size);
    let bench = NativeBench::new()?;
    let changed = || -> anyhow::Result<f64> {
        let two = "there is one processor, and every comparison needs two";
        changed_line(&bench)?.context(two)
    };
    changed()?;
    let here = Target::Native(Here::new());
    let mut there = described(&bench, &amount)?;
    let (mut all, mut first, mut unsteady) = (Vec::new(), 0, 0);
    for (kind, about) in Kind::ALL {
        println!("\n{about}\n");
        println!("{:<44}{:>8}{:>11}{:>11}{:>12}", "", "cycles", "here", "simulated", "difference");
        for (name, threads) in kind.tests(&here).into_iter().take(amount.tests) {
            if threads > bench.topology().threads.len() {
                println!("{name:<44} skipped: it needs {threads} processors");
                continue;
            }
            let test = Test { kind, name: &name, amount: &amount };
            let run = calibrated(changed, |before| {
                if !calibrations_agree(before, there.changed) {
                    there = described(&bench, &amount)?;
                }
                let pause = here.transfer(2, Placement::Near);
                Ok((test.on(&here, 0, pause)?, pause))
            })?;
            let (native, pause) = run.result;
            let simulated = test.on(&there.target, 1, pause)?;
            let ratio = simulated / native;
            let (off, mark) = (100.0 * (ratio - 1.0), if run.steady { "" } else { "  unsteady" });
            println!(
                "{name:<44}{:>8.0}{native:>11.2}{simulated:>11.2}{off:>+10.0} %{mark}",
                run.by
            );
            unsteady += usize::from(!run.steady);
            let at = threads.to_string();
            all.push(Comparison { name, at, first: native, second: simulated, ratio });
        }
        sum_up(&all[first..]);
        first = all.len();
    }
    println!("\nall");
    sum_up(&all);
    let patterns = ladder::names(&here);
    let is_pattern = |c: &&Comparison| patterns.iter().any(|(name, _)| *name == c.name);
    let patterns: Vec<Comparison> = all.iter().filter(is_pattern).cloned().collect();
    println!();
    Ok(serde_json::to_string(&Line {
        error_percent: error_percent(&all).round(),
        within_30_percent: within_percent(&all, 30.0).round(),
        ladder_error_percent: error_percent(&patterns).round(),
        tests: all.len(),
        unsteady,
    })?)
}

fn sum_up(comparisons: &[Comparison]) {
    let [error, within] = [error_percent(comparisons), within_percent(comparisons, 30.0)];
    println!(
        "\n  the median difference is {error:.0} %, and {within:.0} % of the tests are within 30 %"
    );
}

/// A description of this machine, with the state in which the machine was described.
struct Described {
    target: Target,
    /// Cycles of a load of a changed line when the machine was described.
    changed: f64,
}

fn described(bench: &NativeBench, amount: &Amount) -> anyhow::Result<Described> {
    let description = describe(&measure(bench, &amount.effort, &mut |_| ())?);
    let changed = description.load.modified.last().copied().unwrap_or(0.0);
    let machine = Machine::new(description).map_err(anyhow::Error::msg)?;
    Ok(Described { target: Target::Simulated(Box::new(machine)), changed })
}

/// A test of one kind.
struct Test<'t> {
    kind: Kind,
    name: &'t str,
    amount: &'t Amount,
}

impl Test<'_> {
    /// The test's result on this machine (`side` 0) or on a simulated one (`side` 1), with pauses
    /// of this many seconds.
    fn on(&self, target: &Target, side: usize, pause: f64) -> anyhow::Result<f64> {
        let (rounds, seconds) = (self.amount.rounds[side], self.amount.seconds[side]);
        if self.kind == Kind::Ladder {
            let run = |seed| {
                let size = ladder::Size { rounds, seconds, pause, seed };
                ladder::run(target, self.name, &size).context("there is no such pattern")
            };
            let seeds = 1..=self.amount.repetitions as u64;
            let sum: f64 = seeds.map(run).sum::<anyhow::Result<f64>>()?;
            return Ok(sum / self.amount.repetitions as f64);
        }
        let alone = matches!(self.kind, Kind::Atomics | Kind::Locks);
        let pause = Pause::Cycles((pause * target.hertz()).round() as u64);
        let load = Load {
            threads: 2,
            placement: Placement::Near,
            locks: 1,
            data: true,
            pause: if alone { pause } else { Pause::None },
            homes: if alone { Homes::First } else { Homes::Machine },
            fetch_for_writing: false,
            timed: false,
            warm_up: seconds / 5.0,
            measured: seconds,
            seed: 1,
        };
        let (names, repetitions) = (vec![self.name.to_owned()], self.amount.repetitions);
        let request = Request { load, threads: vec![2], names, repetitions };
        let shown = Shown::Throughput;
        let lines = match self.kind {
            Kind::Atomics => bench::atomics(target, &request, shown),
            Kind::Locks => bench::locks(target, &request, shown),
            Kind::Channels => bench::channels(target, &request, shown, None),
            Kind::Tables | Kind::Ladder => {
                bench::tables(target, &request, shown, Shape { buckets: 12, keys: 12 })
            }
        }?;
        let line = lines.first().context("one test has one line")?;
        Ok(line.outcome.per_second / 1e6)
    }
}
