//! `syncline whatif`: slows down call sites of a program, and says how the run time responds.

pub mod args;
mod recorded;
mod show;

use std::env;
use std::fs::Permissions;
use std::io::{Write, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;

use syncline_analysis::model::WhatIf;
use syncline_experiments::{Document, Error, Measured, Slowed, Slowing};
use syncline_policy::{Files, Plan, Why};
use syncline_recording::clock::Clock;
use syncline_recording::layout::CLOCK_TSC;
use syncline_statistics::fewest;
use syncline_targets::sites::Target;
use syncline_try::Failed;

use crate::attempt::{MISS, begin, notice_interrupts, progress_bar};
use crate::exec::files;
use crate::failure::{CANNOT_RECORD, Failure, RECORD_FAILED};
use crate::quoted::typed;
use crate::record::{find_library, find_program, preload};
use crate::terminal::style;
use recorded::{Recorded, targets};

/// The library that delays threads.
const LIBRARY: &str = "libsyncline_delay.so";
/// The environment variable that names another file for this library, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_DELAY_LIBRARY";

/// Slows down the call sites in turn, and prints the results.
pub fn run(args: &args::WhatIf) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let library = find_library(LIBRARY, OVERRIDE)?;
    let recorded = Recorded::of(args)?;
    let targets = targets(args, recorded.as_ref())?;
    // The call sites may be in another program, which the command has started.
    let slowed_file = recorded.as_ref().and_then(Recorded::executable).unwrap_or(&program);
    let places = places(&targets, &files(slowed_file)?)?;
    let failed = |e: std::io::Error| Failure::new(RECORD_FAILED, e);
    let interrupted = notice_interrupts().map_err(failed)?;
    let interrupted = || interrupted.load(Relaxed);
    let passable = Permissions::from_mode(0o711);
    let folder = tempfile::Builder::new().permissions(passable).tempdir().map_err(failed)?;
    let mut command = args.program.command.clone();
    command[0] = program.clone().into();
    let slowing = Slowing {
        command,
        preload: preload(&library, env::var_os("LD_PRELOAD").as_deref()),
        places,
        ticks_per_second: ticks_per_second()?,
        runs: args.runs,
        longest: args.longest / 100.0,
        measure: args.measuring.measure(),
        load: args.measuring.load(),
        miss: MISS,
    };
    let failed = |error| explain(args, error);
    let slowed = Slowed::new(slowing, targets.len(), folder.path()).map_err(failed)?;
    let bar = progress_bar(1);
    let begun = |name: &str, runs: usize| {
        bar.set_length(runs as u64);
        begin(&bar, name);
    };
    let outcome = slowed.measure(targets, begun, interrupted).map_err(failed)?;
    let Measured { reached: measured, unreached } = outcome;
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

/// The call sites, in the form that the delay library reads.
fn places(targets: &[Target], files: &Files) -> Result<String, Failure> {
    let names: Vec<Vec<String>> = targets.iter().map(|target| target.calls.clone()).collect();
    let plan = Plan::of_places(&names, files).map_err(|e| Failure::message(RECORD_FAILED, e))?;
    let found = |number: usize| {
        plan.remarks.iter().filter(|remark| remark.line == number).count() < names[number - 1].len()
    };
    let unknown = plan.remarks.iter().find_map(|remark| match remark.why {
        Why::Without(missing) if !found(remark.line) => Some((&remark.name, missing)),
        _ => None,
    });
    match unknown {
        None => Ok(plan.variable),
        Some((name, missing)) => Err(Failure::no_call_site(name, files.program(), missing)),
    }
}

/// The rate of the time-stamp counter, by which delays are measured.
fn ticks_per_second() -> Result<f64, Failure> {
    let clock = Clock::choose();
    match clock.kind {
        CLOCK_TSC => Ok(clock.ticks_per_second as f64),
        _ => Err(Failure::message(
            CANNOT_RECORD,
            "delays are measured with the time-stamp counter, which is unreliable on this machine",
        )),
    }
}

/// The failure to report if nothing was measured.
fn explain(args: &args::WhatIf, error: Error) -> Failure {
    let failed = match error {
        Error::Run(failed) => failed,
        Error::Counts(error) => return Failure::new(RECORD_FAILED, error),
        Error::NotLoaded => {
            return Failure::new(CANNOT_RECORD, error)
                .hint("`syncline record -- PROGRAM` says why a library can't be preloaded");
        }
    };
    let status = match failed {
        Failed::Start(_) => CANNOT_RECORD,
        _ => RECORD_FAILED,
    };
    let program = args.program.command[0].display();
    match failed {
        Failed::Interrupted => Failure::message(status, "interrupted before anything was measured"),
        _ => Failure::message(status, format!("without delays, {program} {failed}")).hint(
            "first run it without Syncline, with `< /dev/null`: here, its standard input is empty",
        ),
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

/// Saves the result in the recording, where reports find it. It is not saved if the program is
/// another build than the recorded one.
fn save(document: &Document, recorded: &Recorded) -> Result<(), Failure> {
    if let Some(path) = recorded.built_again() {
        let shown = recorded.path.display();
        // An error is ignored: standard error may be closed.
        let _ = writeln!(
            stderr(),
            "syncline: not saved in {shown}: {path} is not the build that was recorded"
        );
        return Ok(());
    }
    let saved = document.save(&recorded.path).map_err(|error| {
        let context = format!("can't write to {}", recorded.path.display());
        Failure::new(RECORD_FAILED, anyhow::Error::new(error).context(context))
    })?;
    if saved.is_some() {
        // An error is ignored: standard error may be closed, and the result is saved already.
        let shown = typed(&recorded.path);
        let _ = writeln!(stderr(), "syncline: `syncline report {shown}` shows this result too");
    }
    Ok(())
}
