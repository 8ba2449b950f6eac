//! `syncline bench`: stress tests of atomic operations, of locks, and of structures built of locks.

use std::io::{Write, stdout};
use std::process::ExitCode;

use serde_json::json;
use syncline_study::bench::{self, Line, Request, Shown};
use syncline_study::stress::table::Shape;
use syncline_study::stress::transactions::Bank;
use syncline_study::stress::{Homes, Load, Pause};
use syncline_study::target::Target;
use syncline_study::world;

use super::args::{Bench, Memory, Placement, Stress, Test};
use super::machine::{WRONG, machine};
use crate::failure::{Failure, REPORT_FAILED};

/// The version of the JSON, which its field `schema` has.
const SCHEMA: &str = "syncline-bench/1";
/// The number of acquisitions of a free lock by each thread, or of messages between two threads.
/// The first number is for this machine, and the second for a simulated one.
const TURNS: (u32, u32) = (20_000, 200);
/// The measured time in seconds. The first number is for this machine, and the second for a
/// simulated one.
const SECONDS: (f64, f64) = (0.1, 200e-6);
/// The default time before the measurement, as a share of the measured time.
const WARM_UP: f64 = 0.2;

/// Runs a test, and prints the result.
pub fn run(args: &Bench) -> Result<ExitCode, Failure> {
    let (stress, test) = match &args.test {
        Test::Atomics(stress) => (stress, "atomics"),
        Test::Locks { stress, .. } => (stress, "locks"),
        Test::Channels { stress, .. } => (stress, "channels"),
        Test::Table { stress, .. } => (stress, "table"),
        Test::Stm { stress, .. } => (stress, "stm"),
    };
    let target = machine(&stress.machine)?;
    let text = if let Some(name) = &stress.compare {
        let other = machine(name)?;
        let ([lines, others], shown) = measure_both(&args.test, stress, [&target, &other])?;
        let both = bench::compared(&lines, &others, shown);
        if stress.json {
            let machines = [target.name(), other.name()];
            let error = bench::error_percent(&both);
            json!({"schema": SCHEMA, "test": test, "machines": machines, "shown": shown,
                "results": both, "error_percent": error})
            .to_string()
                + "\n"
        } else {
            format!("{test}: {}", bench::comparison_table([&target, &other], shown, &both))
        }
    } else if stress.json {
        let (lines, shown) = measure(&args.test, stress, &target)?;
        json!({"schema": SCHEMA, "test": test, "machine": target.name(), "shown": shown,
            "results": lines})
        .to_string()
            + "\n"
    } else {
        let (lines, shown) = measure(&args.test, stress, &target)?;
        let heading = format!("{test} on {}: {}", target.title(), shown.unit());
        format!("{heading}\n\n{}", bench::table(&lines, shown))
    };
    stdout().write_all(text.as_bytes()).map_err(|error| Failure::new(REPORT_FAILED, error))?;
    Ok(ExitCode::SUCCESS)
}

/// Measures on two machines. A pause of `transfer` takes equally long on both.
fn measure_both(
    test: &Test,
    stress: &Stress,
    machines: [&Target; 2],
) -> Result<([Vec<Line>; 2], Shown), Failure> {
    let [first, second] = machines;
    if stress.pause.unwrap_or(default_pause(test)) != Pause::Transfer {
        let (lines, shown) = measure(test, stress, first)?;
        return Ok(([lines, measure(test, stress, second)?.0], shown));
    }
    let threads = stress.threads.iter().map(|&threads| threads as usize).collect();
    let mut shown = Shown::Throughput;
    let both = bench::with_equal_pauses(
        machines,
        threads,
        placement(stress.placement),
        |machine, threads, pause| {
            let stress =
                Stress { threads: vec![threads as u64], pause: Some(pause), ..stress.clone() };
            let (lines, of) = measure(test, &stress, machine)?;
            shown = of;
            Ok(lines)
        },
    )?;
    Ok((both, shown))
}

/// The default pause, which is also that of the figures. With many locks there is no pause, since a
/// thread takes another lock next anyway. For structures built of locks there is no pause either:
/// their contention depends on their size.
fn default_pause(test: &Test) -> Pause {
    match test {
        Test::Atomics(_) | Test::Locks { locks: 1, uncontended: false, .. } => Pause::Transfer,
        _ => Pause::None,
    }
}

fn placement(placement: Placement) -> world::Placement {
    match placement {
        Placement::Near => world::Placement::Near,
        Placement::Far => world::Placement::Far,
        Placement::Anywhere => world::Placement::Anywhere,
    }
}

fn measure(test: &Test, stress: &Stress, target: &Target) -> Result<(Vec<Line>, Shown), Failure> {
    let shown = if stress.latency { Shown::Cycles } else { Shown::Throughput };
    let turns = here_or_there(target, TURNS);
    let pause = stress.pause.unwrap_or(default_pause(test));
    let request = |locks| request(stress, target, locks, pause);
    // By default, the memory of structures built of locks is where the machine places it.
    let built = || {
        let mut request = request(1);
        request.load.homes = homes(stress.memory.unwrap_or(Memory::Machine));
        request
    };
    let (lines, shown) = match *test {
        Test::Atomics(_) => (bench::atomics(target, &request(1), shown), shown),
        Test::Locks { uncontended: true, .. } => {
            (bench::uncontended(target, &request(1), turns), Shown::Cycles)
        }
        Test::Locks { locks, .. } => (bench::locks(target, &request(locks as usize), shown), shown),
        Test::Channels { between_two: true, .. } => {
            (bench::channels(target, &built(), Shown::Cycles, Some(turns)), Shown::Cycles)
        }
        Test::Channels { .. } => (bench::channels(target, &built(), shown, None), shown),
        Test::Table { buckets, keys, .. } => {
            let shape = Shape { buckets: buckets as usize, keys: keys as usize };
            (bench::tables(target, &built(), shown, shape), shown)
        }
        Test::Stm { branches, audits, .. } => {
            let bank = Bank { branches: branches as usize, audits };
            (bench::transactions(target, &built(), shown, bank), shown)
        }
    };
    Ok((lines.map_err(|error| Failure::new(WRONG, error))?, shown))
}

fn homes(memory: Memory) -> Homes {
    match memory {
        Memory::Machine => Homes::Machine,
        Memory::First => Homes::First,
        Memory::Spread => Homes::Spread,
    }
}

fn here_or_there<T>(target: &Target, (here, there): (T, T)) -> T {
    match target {
        Target::Native(_) => here,
        Target::Simulated(_) => there,
    }
}

fn request(stress: &Stress, target: &Target, locks: usize, pause: Pause) -> Request {
    let measured = stress.seconds.unwrap_or(here_or_there(target, SECONDS));
    let load = Load {
        threads: 1,
        placement: placement(stress.placement),
        locks,
        data: true,
        pause,
        homes: homes(stress.memory.unwrap_or(Memory::First)),
        fetch_for_writing: false,
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
