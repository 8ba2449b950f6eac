//! `syncline record -p PID`: records a process that already runs.
//!
//! In order: attach, having made the process's file; wait until the time is over, somebody asks for the
//! end, or the process ends; detach; then tidy the folder and say what there is to read.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Write, stderr};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use syncline_attach::{Attached, Error, Wanted};

use super::{Clock, Folder, LIBRARY, OVERRIDE, args, find_library, finish, largest_file, session};
use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND, RECORD_FAILED};

/// How often it is looked whether the process is still there.
const LOOK: Duration = Duration::from_millis(20);

/// Records the process.
pub fn run(args: &args::Record, pid: u32) -> Result<ExitCode, Failure> {
    let library = find_library(LIBRARY, OVERRIDE)?;
    let max_size = largest_file(args.max_size)?;
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let registered = signal_hook::flag::register(signal, Arc::clone(&ends));
        registered.map_err(|e| Failure::new(RECORD_FAILED, e))?;
    }
    let folder = Folder::create(&args.output)?;
    let path = folder.path().join(format!("{pid}.syncline"));
    let attached = File::create_new(&path).map_err(|e| Failure::new(RECORD_FAILED, e));
    let attached = attached.and_then(|file| {
        let clock = Clock::choose();
        let wanted = Wanted {
            library: &library,
            file: &file,
            clock: clock.kind,
            ticks_per_second: clock.ticks_per_second,
            max_size,
            timeline: args.timeline,
        };
        Attached::new(pid, &wanted).map_err(failure)
    });
    let attached = attached.inspect_err(|_| {
        // Empty, and of no use.
        let _ = fs::remove_file(&path);
        folder.discard();
    })?;
    say(&format!(
        "syncline: attached to process {pid}: {} calls of its modules are counted; one thread was \
         stopped for {:.1} ms, no other",
        attached.slots,
        attached.stopped.as_secs_f64() * 1e3
    ));
    let mut session = session::begin(&command(pid), pid);
    session::write(&session, &folder);
    let started = Instant::now();
    let is_over = || args.duration.is_some_and(|time| started.elapsed() >= time);
    while !ends.load(Relaxed) && !is_over() && attached.goes_on() {
        sleep(LOOK);
    }
    session.seconds = Some(started.elapsed().as_secs_f64());
    let left = attached.detach();
    session::write(&session, &folder);
    match left {
        Ok(left) => say(&format!(
            "syncline: detached; one thread was stopped for {:.1} ms, no other",
            left.stopped.as_secs_f64() * 1e3
        )),
        Err(Error::Gone(_)) => say("syncline: the process has ended"),
        Err(error) => return Err(failure(error)),
    }
    let tidied = finish::tidy_of_older(&folder, &args.output);
    if !tidied.in_use {
        folder.close();
    }
    if !tidied.empty {
        finish::say_what_to_do(&args.output);
    }
    folder.remove_older();
    Ok(ExitCode::SUCCESS)
}

/// The process's command line.
fn command(pid: u32) -> Vec<OsString> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    text.split(|&b| b == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

fn failure(error: Error) -> Failure {
    let (status, hint) = match &error {
        Error::Refused(syncline_attach::Refusal::NoProcess(_)) | Error::Gone(_) => {
            (NOT_FOUND, None)
        }
        Error::Refused(_) | Error::Lacks { .. } | Error::NoThread(_) => (CANNOT_RECORD, None),
        Error::Loader { .. } => (
            CANNOT_RECORD,
            Some("the library needs /proc and libgcc_s.so.1 where the process looks for libraries"),
        ),
        _ => (RECORD_FAILED, None),
    };
    let hint = match &error {
        Error::Refused(refusal) => refusal.hint(),
        _ => hint,
    };
    let failure = Failure::new(status, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn say(text: &str) {
    // Standard error may be closed, and there is nowhere else to say so.
    let _ = writeln!(stderr(), "{text}");
}
