//! `syncline record`: runs a program with the preload library in it.
//!
//! In order: find the program and make sure that it can be recorded; find the library;
//! make the folder; start the program with the environment that the library reads; wait,
//! passing signals on; then tidy the folder and say what there is to read.

mod child;
mod clock;
mod elf;
mod environment;
mod finish;
mod folder;
mod inherited;
mod library;
mod privilege;
mod program;
mod session;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use syncline_recording::Ending;

use crate::args;
use crate::failure::Failure;
use environment::Environment;

pub use child::{hear_signals, told_to_end};
pub use clock::Clock;
pub use environment::preload;
pub use folder::{Folder, largest_file};
pub use inherited::Signals;
pub use library::find as find_library;

/// The library that records.
const LIBRARY: &str = "libsyncline_preload.so";
/// Names another library instead, for those who work on Syncline.
const OVERRIDE: &str = "SYNCLINE_PRELOAD";

/// The file that a program's name stands for, if a library can be preloaded into it.
///
/// # Errors
/// With the statuses of [`failure`](crate::failure) for programs that are not there or don't suit.
pub fn find_program(name: &OsStr) -> Result<PathBuf, Failure> {
    let program = program::find(name)?;
    program::check(&program)?;
    Ok(program)
}

/// Records, and gives the program's own exit status.
pub fn run(args: &args::Record) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let library = find_library(LIBRARY, OVERRIDE)?;
    let max_size = largest_file(args.max_size)?;
    let folder = Folder::create(&args.output)?;
    let environment = Environment {
        library,
        folder: folder.path().to_owned(),
        clock: Clock::choose(),
        max_size,
        timeline: args.timeline,
    };

    let ending = run_in(&folder, &program, &args.program.command, environment.variables())?;
    finish::tidy_and_summarize(&folder, &args.output);
    Ok(exit_code(ending))
}

/// Runs a program that writes to the folder, with these variables besides its own, and keeps
/// the folder's session. The folder is taken back if the program can't be started.
///
/// # Errors
/// As `child::start` and its `wait`.
pub fn run_in(
    folder: &Folder,
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Result<Ending, Failure> {
    let started = Instant::now();
    let child = child::start(program, command, variables).inspect_err(|_| folder.discard())?;
    let mut session = session::begin(command, child.pid());
    session::write(&session, folder.path());
    let ending = child.wait()?;

    session.seconds = Some(started.elapsed().as_secs_f64());
    session.ending = Some(ending);
    session::write(&session, folder.path());
    Ok(ending)
}

/// The exit status that says how the program ended.
pub fn exit_code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Status(status) => ExitCode::from(status as u8),
        Ending::Signal(signal) => ExitCode::from(128 + signal as u8),
    }
}
