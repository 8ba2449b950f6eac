//! `syncline bench`: stress tests of locks and of atomic operations.

use std::io::{Write, stdout};
use std::process::ExitCode;

use serde_json::json;
use syncline_study::bench::{self, Line, Request, Shown};
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
    let shown = if stress.latency { Shown::Cycles } else { Shown::Throughput };
    let request = |locks| request(stress, &target, locks);
    let (lines, shown) = match args.test {
        Test::Atomics(_) => (bench::atomics(&target, &request(1), shown), shown),
        Test::Locks { uncontended: true, .. } => {
            let turns = here_or_there(&target, TURNS);
            (bench::uncontended(&target, &request(1), turns), Shown::Cycles)
        }
        Test::Locks { locks, .. } => {
            (bench::locks(&target, &request(locks as usize), shown), shown)
        }
    };
    let lines = lines.map_err(|error| Failure::new(WRONG, error))?;
    let text = if stress.json {
        json!({"test": test, "machine": target.name(), "shown": shown, "results": lines}).to_string() + "\n"
    } else {
        heading(test, &target, shown, &lines)
    };
    stdout().write_all(text.as_bytes()).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

fn heading(test: &str, target: &Target, shown: Shown, lines: &[Line]) -> String {
    let unit = match shown {
        Shown::Throughput => "million operations a second",
        Shown::Cycles => "cycles of an operation",
    };
    format!("{test} on {}: {unit}\n\n{}", target.title(), bench::table(lines, shown))
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
