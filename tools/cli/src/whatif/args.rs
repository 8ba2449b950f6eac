//! The command line of `syncline whatif`.

use std::path::PathBuf;

use clap::ValueEnum;
use syncline_analysis::model::Delayed;

use crate::arguments::{Program, parse_percent, parse_runs};
use crate::attempt::args::Measuring;
use crate::statuses;

/// Measure how much a call site matters, by slowing it down
///
/// Runs the unmodified program with delays of several known lengths at a call site, in turn with
/// runs without a delay, and says how the run time responds. For small changes, a nanosecond less
/// saves what a nanosecond more costs, so the result bounds what the program would gain if the
/// sections took no time. Without --site, the call sites are those of the report's findings, then
/// others that cost time.
///
/// For example: `syncline whatif -- ./app` after `syncline record -- ./app`
#[derive(clap::Args)]
#[command(
    override_usage = "syncline whatif [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::COMPARING
)]
pub struct WhatIf {
    /// Take the call sites from this recording of the program, and save the result in it
    ///
    /// [default: syncline-recording, if it has the same command line]
    #[arg(long, value_name = "RECORDING")]
    pub from: Option<PathBuf>,

    /// Slow down this call site: `queue.c:120`, a function, or a name as in a report; can be given
    /// up to five times
    #[arg(short, long, value_name = "PLACE")]
    pub site: Vec<String>,

    /// What to delay at --site [default: tries if more are refused than sections are entered; waits if
    /// there are no sections; else sections]
    #[arg(short, long, value_enum, value_name = "WHAT", requires = "site")]
    pub delay: Option<What>,

    /// Most call sites of the report to measure, from 1 to 5
    #[arg(long, value_name = "N", default_value = "3", value_parser = parse_places)]
    pub places: usize,

    /// How many times to run the program with each delay
    #[arg(short = 'n', long, value_name = "N", default_value = "10", value_parser = parse_runs)]
    pub runs: usize,

    /// Size of the longest delays: their sum in a run, as a percentage of the run's time; each of
    /// them is at least 160 ns
    #[arg(long, value_name = "PERCENT", default_value = "40", value_parser = parse_longest)]
    pub longest: f64,

    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub measuring: Measuring,

    #[command(flatten)]
    pub program: Program,
}

/// The thing that is delayed at a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Critical sections, which get longer
    Section,
    /// Refused tries, before they return
    Try,
    /// Waits for a condition, a barrier or a semaphore, when they end
    Wait,
    /// Calls that acquire a lock, before they acquire it
    Call,
}

impl What {
    /// The value that stands for this in a report.
    pub fn delayed(self) -> Delayed {
        match self {
            What::Section => Delayed::Section,
            What::Try => Delayed::Try,
            What::Wait => Delayed::Wait,
            What::Call => Delayed::Call,
        }
    }
}

/// The most call sites that one run can slow down: the delay library has counters for this many.
pub const MOST_PLACES: usize = 5;

fn parse_longest(text: &str) -> Result<f64, String> {
    match parse_percent(text) {
        Ok(percent) if percent >= 1.0 => Ok(percent),
        _ => Err("expected a percentage from 1 to 100".to_owned()),
    }
}

fn parse_places(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=MOST_PLACES).contains(&number) => Ok(number),
        _ => Err(format!("expected a number from 1 to {MOST_PLACES}")),
    }
}
