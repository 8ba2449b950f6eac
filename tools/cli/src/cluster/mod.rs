//! `syncline cluster`: starts a program as ranks with shared memory, and watches over them.
//!
//! The ranks find each other through the memory that this process has made. Only this process
//! watches them, so a rank's death is noticed whatever the other ranks wait for.

pub mod args;

use std::io::{Write as _, stderr};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use syncline_dsm::program::{JOINED, LOST};
use syncline_dsm::shape::{ASKED_LOCK, Control, Layout};
use syncline_fabric::Host;
use syncline_fabric::host::Job;

use crate::failure::{Failure, RECORD_FAILED};
use crate::record::program::find;

/// The interval at which the ranks are checked: a death is noticed well within a second.
const EVERY: Duration = Duration::from_millis(10);
/// After a rank has failed and reports that itself, the ranks have this long to print their
/// messages.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs the ranks. Returns the exit status of the first rank that failed, or [`LOST`] if that rank
/// was ended by a signal or was still part of the shared memory.
pub fn run(args: &args::Cluster) -> Result<ExitCode, Failure> {
    let program = find(&args.program.command[0])?;
    let options = args.options();
    let layout = options.shape(args.ranks).layout();
    let parent = std::process::id();
    let command = |rank: usize| {
        let mut command = Command::new(&program);
        command.arg0(&args.program.command[0]).args(&args.program.command[1..]);
        command.envs(options.variables());
        if rank > 0 {
            command.stdin(Stdio::null());
        }
        // SAFETY: between fork and exec, `end_with` only makes two system calls and allocates
        // nothing.
        unsafe { command.pre_exec(move || end_with(parent)) };
        command
    };
    let job = Host::launch(args.ranks, layout.bytes, command).map_err(|error| {
        let failure = Failure::new(RECORD_FAILED, error);
        let needed = (layout.bytes * args.ranks) >> 20;
        failure.hint(format!("the ranks together need {needed} MiB of memory for --memory"))
    })?;
    watch(job, args.ranks, &layout)
}

/// Makes this process end when Syncline ends.
fn end_with(parent: u32) -> std::io::Result<()> {
    use nix::sys::{prctl, signal::Signal};
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Syncline may have ended before that call.
    if nix::unistd::getppid().as_raw() as u32 != parent {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}

/// Waits for all ranks. If a rank fails, or ends while it is part of the shared memory, all others
/// are ended.
fn watch(mut job: Job, ranks: usize, layout: &Layout) -> Result<ExitCode, Failure> {
    let mut ended: Vec<Option<ExitStatus>> = vec![None; ranks];
    let mut first_failed = None;
    while ended.iter().any(Option::is_none) {
        sleep(EVERY);
        let running = |(_, ended): &(usize, &mut Option<_>)| ended.is_none();
        for (rank, ended) in ended.iter_mut().enumerate().filter(running) {
            let status = job.ended(rank).map_err(|e| Failure::new(RECORD_FAILED, e))?;
            let Some(status) = status else { continue };
            *ended = Some(status);
            if !status.success() {
                first_failed = first_failed.or(Some(status));
            }
            let in_part = job.load(layout.control(rank, Control::State)) == JOINED;
            // A rank that could not join prints the reason itself; the others wait for it.
            let refused = status.code() == Some(LOST) || (!status.success() && !in_part);
            if in_part || refused {
                return Ok(end(job, rank, status, layout, in_part && status.code() != Some(LOST)));
            }
        }
    }
    Ok(first_failed.map_or(ExitCode::SUCCESS, |status| ExitCode::from(code(status))))
}

/// Ends all ranks because one has failed. With `tell`, prints how that rank ended and what it
/// requested last; otherwise the rank prints its own error.
fn end(job: Job, rank: usize, status: ExitStatus, layout: &Layout, tell: bool) -> ExitCode {
    if tell {
        let asked = job.load(layout.control(rank, Control::Asked));
        let last = match asked & ASKED_LOCK {
            0 if asked == 0 => "it had requested no page and no lock yet".to_owned(),
            0 => format!("the last page that it requested is at {asked:#x} of the shared memory"),
            _ => format!("the last lock that it requested is number {}", asked & !ASKED_LOCK),
        };
        let how = match status.signal() {
            Some(signal) => match nix::sys::signal::Signal::try_from(signal) {
                Ok(signal) => format!("was ended by {signal}"),
                Err(_) => format!("was ended by signal {signal}"),
            },
            None => format!(
                "ended with status {} before syncline_dsm_finish",
                status.code().unwrap_or_default()
            ),
        };
        // Standard error may be closed.
        let _ =
            writeln!(stderr(), "syncline: rank {rank} {how}; {last}; all other ranks were ended");
    } else {
        sleep(PATIENCE);
    }
    drop(job);
    match status.code() {
        // The rank prints its own error.
        Some(code) if !tell && code != 0 => ExitCode::from(code as u8),
        _ => ExitCode::from(LOST as u8),
    }
}

fn code(status: ExitStatus) -> u8 {
    match status.signal() {
        Some(signal) => 128 + signal as u8,
        None => status.code().unwrap_or_default() as u8,
    }
}
