//! `syncline record -p PID`: records a process that is already running.
//!
//! The steps: make the process's file and attach; wait until the time is over, the user asks for
//! the end, or the process ends; detach; complete the folder and say what was recorded.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Write, stderr};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use syncline_attach::{Attached, Children, Error, Wanted};
use syncline_present::number::counted;
use syncline_recording::Session;
use syncline_recording::clock::Clock;
use syncline_recording::keeper::{self, Keeper};
use syncline_sampler::Sampler;

use super::folder::{Folder, largest_file};
use super::library::{LIBRARY, OVERRIDE, find as find_library};
use super::{args, finish, idle, sampling, session};
use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND, OTHER_DISK, RECORD_FAILED};

/// The time between two checks whether the process is still running.
const LOOK: Duration = Duration::from_millis(20);
/// The time between two checks for newly loaded modules.
const FOLLOW: Duration = Duration::from_millis(100);

/// Records the process.
pub fn run(args: &args::Record, pid: u32) -> Result<ExitCode, Failure> {
    let ends = ends()?;
    let mut process = Process::attach(pid, &args.output, args.max_size, args.timeline)?;
    let keeper = args.windows().map(|wanted| process.keep_windows(wanted));
    let started = Instant::now();
    let is_over = || args.duration.is_some_and(|time| started.elapsed() >= time);
    while !ends.load(Relaxed) && !is_over() && process.goes_on() {
        process.follow();
        sleep(LOOK);
    }
    let detached = process.detach();
    if let Some(keeper) = keeper {
        // This comes after detaching, so the last window gets everything that was counted.
        keeper.stop();
    }
    let folder = detached?;
    let tidied = finish::tidy_of_older(&folder, &args.output);
    if !tidied.in_use {
        folder.close();
    }
    if !tidied.empty {
        finish::say_what_to_do(&args.output);
    }
    folder.remove_older();
    if tidied.full {
        let message = "the recording is incomplete: the disk was full; the process goes on";
        return Err(Failure::message(RECORD_FAILED, message).hint(OTHER_DISK));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a flag that becomes true when the user asks this command to end, by SIGINT, SIGTERM or
/// SIGHUP.
///
/// # Errors
/// With [`RECORD_FAILED`], if a signal handler can't be installed.
pub fn ends() -> Result<Arc<AtomicBool>, Failure> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let registered = signal_hook::flag::register(signal, Arc::clone(&ends));
        registered.map_err(|e| Failure::new(RECORD_FAILED, e))?;
    }
    Ok(ends)
}

/// A process that Syncline has attached to and records.
pub struct Process {
    attached: Attached,
    folder: Folder,
    session: Session,
    /// The sampler of the process's threads, or `None` if it could not be started. Without a
    /// sampler, loops that only wait are not found.
    sampler: Option<Sampler>,
    started: Instant,
    /// The value of [`idle::idle_seconds`] when the recording began.
    idle: Option<f64>,
    looked: Instant,
}

impl Process {
    /// Attaches to a process, and says so on standard error.
    ///
    /// # Errors
    /// With the exit statuses of [`failure`](crate::failure). In that case, the folder is removed
    /// again.
    pub fn attach(
        pid: u32,
        output: &Path,
        max_size: u64,
        timeline: bool,
    ) -> Result<Process, Failure> {
        let library = find_library(LIBRARY, OVERRIDE)?;
        let max_size = largest_file(max_size)?;
        let folder = Folder::create(output)?;
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
                timeline,
            };
            Attached::new(pid, &wanted).map_err(failure)
        });
        let attached = attached.inspect_err(|_| {
            // The file is empty and useless.
            let _ = fs::remove_file(&path);
            folder.discard();
        })?;
        say(&format!(
            "syncline: attached to process {pid}; its threads were stopped for {:.1} ms in total",
            attached.stopped().as_secs_f64() * 1e3
        ));
        let session = session::begin(&command(pid), pid);
        session::write(&session, &folder);
        let sampler = sampling::start(&folder, Some(library));
        let now = Instant::now();
        let idle = idle::idle_seconds();
        Ok(Process { attached, folder, session, sampler, started: now, idle, looked: now })
    }

    /// Whether the process is still running.
    pub fn goes_on(&self) -> bool {
        self.attached.goes_on()
    }

    /// Starts to record modules that were loaded since the last call. An error is ignored, since
    /// the next call tries again.
    pub fn follow(&mut self) {
        if self.looked.elapsed() >= FOLLOW {
            let _ = self.attached.follow();
            self.looked = Instant::now();
        }
    }

    /// Starts to keep windows of time of this process.
    pub fn keep_windows(&self, wanted: keeper::Wanted) -> Keeper {
        session::keep_windows(&self.folder, &self.session, wanted)
    }

    /// Detaches, says so on standard error, and returns the folder with the recording. It is not an
    /// error if the process has ended.
    ///
    /// # Errors
    /// With the exit statuses of [`failure`](crate::failure), if the process stays attached. In
    /// that case, the recording ends when another command attaches to the process.
    pub fn detach(mut self) -> Result<Folder, Failure> {
        self.session.seconds = Some(self.started.elapsed().as_secs_f64());
        self.session.idle = idle::since(self.idle);
        if let Some(sampler) = self.sampler.take() {
            sampling::finish(sampler, &self.folder);
        }
        let left = self.attached.detach();
        session::write(&self.session, &self.folder);
        match left {
            Ok(left) => {
                say(&format!(
                    "syncline: detached; the process's threads were stopped for {:.1} ms in total \
                     since attaching began",
                    left.stopped.as_secs_f64() * 1e3
                ));
                say_of_children(&left.children);
            }
            Err(Error::Gone(_)) => say("syncline: the process has ended"),
            Err(error) => return Err(failure(error)),
        }
        Ok(self.folder)
    }
}

/// Prints what happened to the processes that this process has forked meanwhile.
fn say_of_children(children: &Children) {
    if children.left > 0 {
        say(&format!(
            "syncline: also detached from {} that the process has forked",
            counted(children.left, "process")
        ));
    }
    for (pid, why) in &children.going_on {
        say(&format!(
            "syncline: process {pid}, which the process has forked, is still recorded: \
             {why}\nhint: `syncline record -p {pid} --for 1s` ends this recording"
        ));
    }
}

/// The command line of a process. Zeros at its end are removed, because a program that overwrites
/// its command line with a status leaves some there.
fn command(pid: u32) -> Vec<OsString> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    text[..end].split(|&b| b == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

fn failure(error: Error) -> Failure {
    let (status, hint) = match &error {
        Error::Refused(syncline_attach::Refusal::NoProcess(_)) | Error::Gone(_) => {
            (NOT_FOUND, None)
        }
        Error::Refused(_) | Error::Lacks { .. } | Error::NoThread(_) | Error::Held { .. } => {
            (CANNOT_RECORD, None)
        }
        Error::Loader { .. } => (
            CANNOT_RECORD,
            Some(
                "the library needs /proc, and libgcc_s.so.1 where the process looks for libraries",
            ),
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
    // An error is ignored: standard error may be closed, and there is no other place for the
    // message.
    let _ = writeln!(stderr(), "{text}");
}
