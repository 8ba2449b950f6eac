//! `syncline top`: shows what a running program waits for now.
//!
//! The command reads the recording of a running program again and again, and shows what happened
//! between two readings. On a terminal it shows a screen that is refreshed. Otherwise, or with
//! `--once`, it prints plain tables.

pub mod args;
mod plain;
mod screen;
mod view;
mod watch;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use crate::failure::{Failure, REPORT_FAILED};
use crate::record::live::{self, Process};
use watch::Watch;

/// The most bytes of the file that records a process, if this command attaches to the process.
const LARGEST: u64 = 1 << 30;

/// Shows the recording until its program ends or the user leaves.
pub fn run(args: &args::Top) -> Result<ExitCode, Failure> {
    match args.pid {
        Some(pid) => process(args, pid)?,
        None => show(args, &mut Watch::start(&args.recording)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a process that is already running, and records it into a temporary folder. At the end the
/// command always detaches from the process, even after an error.
fn process(args: &args::Top, pid: u32) -> Result<(), Failure> {
    let failed = |e| Failure::new(REPORT_FAILED, e);
    let ends = live::ends()?;
    let place = tempfile::Builder::new().prefix("syncline-top-").tempdir().map_err(failed)?;
    let folder = place.path().join("recording");
    let process = Process::attach(pid, &folder, LARGEST, false)?;
    let mut watch = match Watch::start(&folder) {
        Ok(watch) => watch,
        Err(failure) => return process.detach().and(Err(failure)),
    };
    watch.process = Some(process);
    watch.ends = ends;
    let shown = show(args, &mut watch);
    let detached = watch.process.take().map_or(Ok(()), |process| process.detach().map(drop));
    shown.and(detached)
}

fn show(args: &args::Top, watch: &mut Watch) -> Result<(), Failure> {
    if stdout().is_terminal() && !args.once {
        screen::show(watch, args.interval)
    } else {
        plain::print(watch, args.interval, args.once)
    }
}
