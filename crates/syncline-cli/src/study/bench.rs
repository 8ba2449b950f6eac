//! `syncline bench`: stress tests of locks and of atomic operations.

use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::process::ExitCode;

use serde_json::json;
use syncline_study::bench::{self, Comparison, Line, Request, Shown};
use syncline_study::stress::{Homes, Load, Pause};
use syncline_study::target::Target;
use syncline_study::world;

use super::args::{Bench, Memory, Placement, Stress, Test};
use super::{WRONG, machine};
use crate::failure::{Failure, REPORT_FAILED};

/// Acquisitions of a free lock by each thread, where they are measured and where simulated.
const TURNS: (u32, u32) = (20_000, 200);
/// Seconds measured, here and of a simulated machine.
const SECONDS: (f64, f64) = (0.1, 200e-6);
/// What share of that goes before, if nothing else is said.
const WARM_UP: f64 = 0.2;

/// Runs a test, and prints what came of it.
pub fn run(args: &Bench) -> Result<ExitCode, Failure> {
    let (stress, test) = match &args.test {
        Test::Atomics(stress) => (stress, "atomics"),
        Test::Locks { stress, .. } => (stress, "locks"),
    };
    let target = machine(&stress.machine)?;
    let (lines, shown) = measure(&args.test, stress, &target)?;
    let text = if let Some(name) = &stress.compare {
        let other = machine(name)?;
        let (others, _) = measure(&args.test, stress, &other)?;
        let both = bench::compared(&lines, &others, shown);
        if stress.json {
            let machines = [target.name(), other.name()];
            let error = bench::error_percent(&both);
            json!({"test": test, "machines": machines, "shown": shown, "results": both,
                "error_percent": error})
            .to_string()
                + "\n"
        } else {
            comparison(test, [&target, &other], shown, &both)
        }
    } else if stress.json {
        json!({"test": test, "machine": target.name(), "shown": shown, "results": lines})
            .to_string()
            + "\n"
    } else {
        let heading = format!("{test} on {}: {}", target.title(), unit(shown));
        format!("{heading}\n\n{}", bench::table(&lines, shown))
    };
    stdout().write_all(text.as_bytes()).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

fn measure(test: &Test, stress: &Stress, target: &Target) -> Result<(Vec<Line>, Shown), Failure> {
    let shown = if stress.latency { Shown::Cycles } else { Shown::Throughput };
    let request = |locks| request(stress, target, locks);
    let (lines, shown) = match *test {
        Test::Atomics(_) => (bench::atomics(target, &request(1), shown), shown),
        Test::Locks { uncontended: true, .. } => {
            let turns = here_or_there(target, TURNS);
            (bench::uncontended(target, &request(1), turns), Shown::Cycles)
        }
        Test::Locks { locks, .. } => (bench::locks(target, &request(locks as usize), shown), shown),
    };
    Ok((lines.map_err(|error| Failure::new(WRONG, error))?, shown))
}

fn unit(shown: Shown) -> &'static str {
    match shown {
        Shown::Throughput => "million operations a second",
        Shown::Cycles => "cycles of an operation",
    }
}

fn comparison(test: &str, machines: [&Target; 2], shown: Shown, both: &[Comparison]) -> String {
    let [first, second] = machines.map(Target::name);
    let mut text = format!("{test}: {}\n\n{:<16}{:>14}", unit(shown), "", "");
    let _ = writeln!(text, "{first:>12}{second:>12}{:>12}", "difference");
    for Comparison { name, at, first, second, ratio } in both {
        let off = 100.0 * (ratio - 1.0);
        let _ = writeln!(text, "{name:<16}{at:>14}{first:>12.2}{second:>12.2}{off:>+10.0} %");
    }
    let _ = writeln!(text, "\nThe middle difference is {:.0} %.", bench::error_percent(both));
    text
}

fn here_or_there<T>(target: &Target, (here, there): (T, T)) -> T {
    match target {
        Target::Native(_) => here,
        Target::Simulated(_) => there,
    }
}

fn request(stress: &Stress, target: &Target, locks: usize) -> Request {
    let measured = stress.seconds.unwrap_or(here_or_there(target, SECONDS));
    let load = Load {
        threads: 1,
        placement: match stress.placement {
            Placement::Near => world::Placement::Near,
            Placement::Far => world::Placement::Far,
            Placement::Anywhere => world::Placement::Anywhere,
        },
        locks,
        data: true,
        // As the figures have it: with many locks the next one is another one anyway.
        pause: stress.pause.unwrap_or(if locks == 1 { Pause::Transfer } else { Pause::None }),
        homes: match stress.memory {
            Memory::First => Homes::First,
            Memory::Spread => Homes::Spread,
        },
        timed: stress.latency,
        warm_up: stress.warm_up.unwrap_or(measured * WARM_UP),
        measured,
        seed: stress.seed,
    };
    Request {
        load,
        threads: stress.threads.iter().map(|&threads| threads as usize).collect(),
        names: stress.names.clone(),
        repetitions: stress.repetitions as usize,
    }
}
