//! `syncline try`: runs a program with its own locks and with other locks in turn, and says which
//! are faster.

pub mod args;
pub mod show;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use syncline_policy::{Files, Plan, Policy, Remark, Rule, Subject, Why};
use syncline_present::terminal::wrapped;
use syncline_statistics::{Looks, fewest};
use syncline_try::{Experiment, Failed, Variant};

use syncline_targets::Locks;

use crate::exec::{Variables, files, planned, variables};
use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};
use crate::mends::Mend;
use crate::record::find_program;
use crate::terminal::style;
use args::Try;

/// The probability that any of the intervals misses its true value.
pub const MISS: f64 = 0.05;
pub const OWN: &str = "its own";

/// The locks that are tried if the user names neither locks nor changes (`--mend`).
const LOCKS: [&str; 4] = ["gate", "mcs", "ttas", "futex"];

/// Runs the experiment and prints the result.
pub fn run(args: &Try) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let others = variants(args, &program)?;
    let mut command = args.program.command.clone();
    command[0] = program.into();
    let experiment = Experiment {
        command,
        own: variant(OWN, Vec::new()),
        looks: Looks::once(args.runs),
        measure: args.measuring.measure(),
        miss: MISS,
        matters: args.mattering.matters(),
        load: args.measuring.load(),
        others,
    };
    let interrupted = notice_interrupts().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let bar = progress_bar(args.runs * (1 + experiment.others.len()));
    let outcome = experiment.run(|step| begin(&bar, step.name), || interrupted.load(Relaxed));
    bar.finish_and_clear();
    let outcome = outcome.map_err(|failed| explain(&args.program.command[0], failed))?;
    let enough = fewest(MISS / experiment.others.len() as f64);
    let text = wrapped(&show::table(&experiment, &outcome, enough), &style());
    stdout().write_all(text.as_bytes()).map_err(|e| Failure::new(RECORD_FAILED, e))?;
    Ok(ExitCode::SUCCESS)
}

/// The variants to try. They are locks, for all objects or only for those of one call site, and
/// changes (`--mend`).
fn variants(args: &Try, program: &Path) -> Result<Vec<Variant>, Failure> {
    let wrong = |what: String| Failure::message(RECORD_FAILED, what);
    let locks = match (&args.lock[..], &args.mend[..]) {
        ([], []) => LOCKS.into_iter().map(str::parse).collect::<Result<_, _>>().map_err(wrong)?,
        (locks, _) => locks.to_vec(),
    };
    let mends = match (&args.lock[..], &args.mend[..]) {
        ([], []) if args.site.is_none() => Mend::all_here(),
        (_, mends) => mends.to_vec(),
    };
    let files = args.site.as_ref().map(|_| files(program)).transpose()?;
    let mut variants = Vec::new();
    for locks in locks {
        let variables = match (&args.site, &files) {
            (Some(site), Some(files)) => at_site(site, &locks, files)?,
            _ => variables(&locks)?,
        };
        variants.push(variant(&locks.to_string(), variables));
    }
    for mend in mends {
        let (variables, option) = mend.variables()?;
        variants.push(variant(&option, variables));
    }
    Ok(variants)
}

/// The environment variables that replace only the locks that are first acquired at this call site.
fn at_site(site: &str, locks: &Locks, files: &Files) -> Result<Variables, Failure> {
    let rule = Rule {
        subject: Subject::Acquired(site.to_owned()),
        offsets: Vec::new(),
        locks: locks.names(),
        comment: Vec::new(),
        line: 0,
    };
    let policy = Policy { rules: vec![rule], ..Policy::default() };
    let plan = Plan::new(&policy, files).map_err(|e| Failure::message(RECORD_FAILED, e))?;
    match plan.remarks.first() {
        Some(&Remark { why: Why::Without(missing), ref name, .. }) => {
            Err(Failure::no_call_site(name, files.program(), missing))
        }
        _ => planned(&plan),
    }
}

/// A variant with this name, for which these environment variables are added.
pub fn variant(name: &str, added: Variables) -> Variant {
    let variables = added.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Variant { name: name.to_owned(), variables }
}

/// Handles interrupts. The first one sets the returned flag, which ends the experiment. The second
/// one ends Syncline.
pub fn notice_interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_default(SIGINT, Arc::clone(&interrupted))?;
    flag::register(SIGINT, Arc::clone(&interrupted))?;
    Ok(interrupted)
}

/// A progress bar, which is shown only on a terminal. Until the first run is over, it shows the
/// remaining time as unknown.
pub fn progress_bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let left = |state: &ProgressState, to: &mut dyn fmt::Write| {
        // Writing to a terminal's line never fails.
        let _ = match state.pos() {
            0 => to.write_str("?"),
            _ => write!(to, "{:#}", HumanDuration(state.eta())),
        };
    };
    let style = ProgressStyle::with_template("{pos} of {len} runs {bar:20} {left} left: {msg}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("left", left);
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.with_style(style)
}

/// Shows that a run of this variant begins. If there was a run before it, that run counts as done
/// now.
pub fn begin(bar: &ProgressBar, name: &str) {
    if !bar.message().is_empty() {
        bar.inc(1);
    }
    bar.set_message(name.to_owned());
}

/// The failure to report if the program with its own locks could not be measured.
pub fn explain(name: &OsString, failed: Failed) -> Failure {
    let status = match failed {
        Failed::Start(_) => CANNOT_RECORD,
        _ => RECORD_FAILED,
    };
    let program = name.display();
    match failed {
        Failed::Interrupted => Failure::message(status, "interrupted before anything was measured"),
        _ => Failure::message(status, format!("{program} with its own locks {failed}")).hint(
            "first run it without Syncline, with `< /dev/null`: here, its standard input is empty",
        ),
    }
}
