//! `syncline try`: runs a program with its own and with other locks in turn, and says what is
//! faster.

mod show;

use std::ffi::OsString;
use std::io::{self, Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use syncline_try::{Experiment, Failed, Measure, Variant, fewest};

use crate::args::Try;
use crate::exec::variables;
use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};
use crate::record::find_program;

/// How often any of the intervals may be wrong.
const MISS: f64 = 0.05;
const OWN: &str = "its own";

/// Runs the experiment and prints what came out.
pub fn run(args: &Try) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let mut command = args.program.command.clone();
    command[0] = program.into();
    let variant = |name: String, added: Vec<(&str, OsString)>| {
        let variables = added.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Variant { name, variables }
    };
    let others =
        args.lock.iter().map(|locks| Ok(variant(locks.to_string(), variables(locks)?.into())));
    let experiment = Experiment {
        command,
        own: variant(OWN.to_owned(), Vec::new()),
        others: others.collect::<Result<_, Failure>>()?,
        rounds: args.runs,
        measure: measure(args),
        miss: MISS,
    };
    let interrupted = notice_interrupts().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let bar = progress_bar(args.runs * (1 + args.lock.len()));
    let outcome = experiment.run(
        |name| {
            bar.set_message(name.to_owned());
            bar.inc(1);
        },
        || interrupted.load(Relaxed),
    );
    bar.finish_and_clear();
    let outcome = outcome.map_err(|failed| explain(&args.program.command[0], failed))?;
    let enough = fewest(MISS / args.lock.len() as f64);
    let text = show::table(&experiment, &outcome, enough);
    stdout().write_all(text.as_bytes()).map_err(|e| Failure::new(RECORD_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Try) -> Measure {
    match &args.metric {
        Some(pattern) => Measure::Printed { pattern: pattern.clone(), less: args.less_is_better },
        None if args.cpu => Measure::Processor,
        None => Measure::Wall,
    }
}

/// The first interrupt ends the experiment, and a second one Syncline.
fn notice_interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_default(SIGINT, Arc::clone(&interrupted))?;
    flag::register(SIGINT, Arc::clone(&interrupted))?;
    Ok(interrupted)
}

/// Shown on a terminal only.
fn progress_bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let style = ProgressStyle::with_template("run {pos} of {len} {bar:20} {eta} left: {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn explain(name: &OsString, failed: Failed) -> Failure {
    let status = match failed {
        Failed::Start(_) => CANNOT_RECORD,
        _ => RECORD_FAILED,
    };
    let program = name.display();
    match failed {
        Failed::Interrupted => Failure::message(status, "interrupted before anything was measured"),
        _ => Failure::message(status, format!("{program} with its own locks {failed}"))
            .hint("run it without Syncline first; its standard input is empty here"),
    }
}
