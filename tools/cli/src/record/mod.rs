//! `syncline record`: runs a program with the preload library in it.
//!
//! In order: find the program and make sure that it can be recorded; find the library;
//! make the folder; start the program with the environment that the library reads; wait,
//! passing signals on; then tidy the folder and say what there is to read.

pub mod args;
mod child;
mod clock;
mod elf;
mod environment;
mod finish;
mod folder;
mod inherited;
mod library;
pub mod live;
mod privilege;
pub mod program;
mod runs;
mod sanitizer;
mod session;
pub mod windows;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use syncline_recording::Ending;

use crate::failure::{Failure, RECORD_FAILED};
use environment::Environment;
use runs::Runs;
use windows::Keeper;

pub use child::{hear_signals, told_to_end};
pub use clock::Clock;
pub use environment::preload;
pub use folder::{Folder, largest_file, note_refusal};
pub use inherited::Signals;
pub use library::{find as find_library, find_part};
pub use program::refuse_leak_checker;

/// The library that records.
const LIBRARY: &str = "libsyncline_recorder.so";
/// Names another library instead, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_PRELOAD";

/// The file that a program's name stands for, if a library can be preloaded into it.
///
/// # Errors
/// With the statuses of [`failure`](crate::failure) for programs that don't exist or can't be
/// recorded.
pub fn find_program(name: &OsStr) -> Result<PathBuf, Failure> {
    let program = program::find(name)?;
    program::check(&program)?;
    Ok(program)
}

/// Records, and gives the program's own exit status, unless a recording is incomplete; of several
/// runs, that of the first that failed.
pub fn run(args: &args::Record) -> Result<ExitCode, Failure> {
    if let Some(pid) = args.pid {
        return live::run(args, pid);
    }
    let command = &args.command;
    let clock = Clock::begin_choosing();
    let prepared = prepare(args).inspect_err(|why| note_refusal(&args.output, command, why));
    let (program, library, max_size) = prepared?;
    let folder = Folder::create(&args.output)?;
    let clock = clock.finish();
    let environment = Environment { library, clock, max_size, timeline: args.timeline };
    Runs { args, program, environment }.record_all(&folder)
}

/// What can be refused before anything is touched.
fn prepare(args: &args::Record) -> Result<(PathBuf, PathBuf, u64), Failure> {
    let program = find_program(&args.command[0])?;
    Ok((program, find_library(LIBRARY, OVERRIDE)?, largest_file(args.max_size)?))
}

/// A program that has ended.
pub struct Run {
    ending: Ending,
    /// There was no room to say in `session.json` how it ended.
    no_room: bool,
}

/// Runs a program that writes to the folder, with these variables besides its own, and keeps
/// the folder's session. The folder is taken back if the program can't be started.
///
/// # Errors
/// Same errors as `child::start` and its `wait`.
pub fn run_in(
    folder: &Folder,
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Result<Run, Failure> {
    run_in_windows(folder, program, command, variables, None)
}

/// Runs a program likewise, with windows of time if they are wanted.
fn run_in_windows(
    folder: &Folder,
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
    windows: Option<windows::Wanted>,
) -> Result<Run, Failure> {
    let started = Instant::now();
    let child = child::start(program, command, variables).inspect_err(|_| folder.discard())?;
    let mut session = session::begin(command, child.pid());
    session::write(&session, folder);
    let keeper = windows.map(|wanted| Keeper::start(folder.path(), &session, wanted));
    let ending = child.wait();
    if let Some(keeper) = keeper {
        keeper.stop();
    }
    let ending = ending?;

    session.seconds = Some(started.elapsed().as_secs_f64());
    session.ending = Some(ending);
    let no_room = !session::write(&session, folder);
    Ok(Run { ending, no_room })
}

impl Run {
    /// Whether the program ended with status 0, and that could be noted.
    fn succeeded(&self) -> bool {
        matches!(self.ending, Ending::Status(0)) && !self.no_room
    }

    /// The program's exit status, if all that it did is recorded; `full` says that a process found no
    /// room on the disk.
    ///
    /// # Errors
    /// With [`RECORD_FAILED`] if not, which says how the program ended.
    pub fn exit_code(self, full: bool) -> Result<ExitCode, Failure> {
        if !full && !self.no_room {
            return Ok(exit_code(self.ending));
        }
        let ended = match self.ending {
            Ending::Status(status) => format!("ended with status {status}"),
            Ending::Signal(signal) => format!("was ended by signal {signal}"),
        };
        let message =
            format!("what was recorded is incomplete: the disk was full; the program {ended}");
        Err(Failure::message(RECORD_FAILED, message)
            .hint("make room, or choose a folder on another disk with -o"))
    }
}

/// The exit status that says how the program ended.
fn exit_code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Status(status) => ExitCode::from(status as u8),
        Ending::Signal(signal) => ExitCode::from(128 + signal as u8),
    }
}
