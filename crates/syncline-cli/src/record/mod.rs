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

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use syncline_recording::Ending;

use crate::args;
use crate::failure::Failure;
use clock::Clock;
use environment::Environment;
use folder::Folder;

pub use environment::preload;
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
    let max_size = folder::largest_file(args.max_size)?;
    let folder = Folder::create(&args.output)?;
    let environment = Environment {
        library,
        folder: folder.path().to_owned(),
        clock: Clock::choose(),
        max_size,
        timeline: args.timeline,
    };

    let started = Instant::now();
    let child = match child::start(&program, &args.program.command, &environment) {
        Ok(child) => child,
        Err(failure) => {
            folder.discard();
            return Err(failure);
        }
    };
    let mut session = session::begin(&args.program.command, child.pid());
    session::write(&session, folder.path());
    let ending = child.wait()?;

    session.seconds = Some(started.elapsed().as_secs_f64());
    session.ending = Some(ending);
    session::write(&session, folder.path());
    finish::tidy_and_summarize(&folder, &args.output);
    Ok(match ending {
        Ending::Status(status) => ExitCode::from(status as u8),
        Ending::Signal(signal) => ExitCode::from(128 + signal as u8),
    })
}
