//! `syncline-foreign`: runs test programs from other projects, which are built already, with and
//! without Syncline. It lists the programs that end or print differently. `./x foreign DIR...` runs
//! it; docs/foreign.md has the rules and the last results.
//!
//! - `find` finds the test programs in a folder;
//! - `ways` has the commands of Syncline under which a program is run;
//! - `supervise` runs one command with a time limit, and ends the processes that it leaves;
//! - `laboratory` gives each run the same surroundings;
//! - `verdict` distinguishes a real difference from chance, by repeating runs;
//! - `expected` reads the file of known differences, each with its reason;
//! - `report` counts the verdicts, and prints them.

mod args;
mod expected;
mod find;
mod laboratory;
mod report;
mod supervise;
mod verdict;
mod ways;

use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use clap::Parser;

use crate::args::{Arguments, Task};
use crate::expected::Expectations;
use crate::find::TestProgram;
use crate::laboratory::Laboratory;
use crate::report::Report;
use crate::verdict::{Row, examine};
use crate::ways::Way;

fn main() -> ExitCode {
    match Arguments::parse().task() {
        Task::Supervise(run) => run.run(),
        Task::Compare(arguments) => compare(&arguments).unwrap_or_else(|problem| {
            eprintln!("syncline-foreign: {problem}");
            ExitCode::from(2)
        }),
    }
}

/// Runs all programs, and prints the report. Returns status 0 if no program differs, or if all
/// differences are expected; otherwise 1. The error is a sentence.
fn compare(arguments: &Arguments) -> Result<ExitCode, String> {
    let expectations = Expectations::read(&arguments.expected)?;
    let ways = ways::chosen(&arguments.ways)?;
    let mut programs = Vec::new();
    for folder in &arguments.folders {
        programs.extend(find::programs(folder)?);
    }
    programs.retain(|program| program.name().contains(&arguments.only));
    if programs.is_empty() {
        return Err("no test program was found: only dynamically linked executables for x86-64 \
                    and executable *.sh scripts count; build the suite first"
            .to_owned());
    }
    eprintln!("{} programs, natively and under {} commands", programs.len(), ways.len());
    let rows = run_all(arguments, &programs, &ways);
    let report = Report::new(&rows, &ways, &expectations);
    print!("{report}");
    Ok(if report.has_unexpected() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs several programs at the same time. Each program is run under all commands before another
/// program is started in its place.
fn run_all(arguments: &Arguments, programs: &[TestProgram], ways: &[Way]) -> Vec<Row> {
    let waiting = Mutex::new(programs.iter());
    let rows = Mutex::new(Vec::new());
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                let laboratory = Laboratory::new(arguments.least_limit);
                loop {
                    let next = waiting.lock().expect("no panic").next();
                    let Some(program) = next else { break };
                    let verdicts = examine(ways, |way| laboratory.run(program, way));
                    let row = Row { program: program.clone(), verdicts };
                    let mut rows = rows.lock().expect("no panic");
                    rows.push(row);
                    let row = rows.last().expect("it was pushed");
                    report::progress(row, ways, rows.len(), programs.len(), started);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no panic");
    rows.sort_by_key(|row| row.program.name());
    rows
}
