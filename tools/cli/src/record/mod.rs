//! `syncline record`: runs a program with the preload library loaded.
//!
//! The steps: find the program and check that it can be recorded; find the library; make the
//! folder; start the program with the environment variables that the library reads; wait, and pass
//! signals on; complete the folder and say what was recorded.

pub mod args;
mod child;
mod elf;
mod environment;
mod finish;
mod folder;
mod idle;
mod inherited;
mod library;
pub mod live;
mod privilege;
pub mod program;
mod run;
mod runs;
mod sampling;
mod session;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

use syncline_recording::clock::Clock;

use crate::failure::Failure;
use environment::Environment;
use library::{LIBRARY, OVERRIDE};
use runs::Runs;

pub use child::{got_sigterm, hear_signals};
pub use environment::preload;
pub use folder::{Folder, largest_file, note_refusal};
pub use inherited::Signals;
pub use library::{find as find_library, find_part};
pub use program::{check as check_program, refuse_leak_checker};
pub use run::run_in;

/// The file that a program's name stands for. It is checked that a library can be preloaded into
/// it.
///
/// # Errors
/// With the exit statuses that [`failure`](crate::failure) has for programs that don't exist or
/// can't be recorded.
pub fn find_program(name: &OsStr) -> Result<PathBuf, Failure> {
    let program = program::find(name)?;
    program::check(&program)?;
    Ok(program)
}

/// Records the program. Returns the program's own exit status, unless a recording is incomplete. If
/// there are several runs, it is the status of the first run that failed.
pub fn run(args: &args::Record) -> Result<ExitCode, Failure> {
    if let Some(pid) = args.pid {
        return live::run(args, pid);
    }
    let command = &args.command;
    let clock = Clock::begin_choosing();
    let refused = |why: &Failure| note_refusal(&args.output, command, why);
    let (program, library, max_size) = prepare(args).inspect_err(refused)?;
    let folder = Folder::create(&args.output).inspect_err(refused)?;
    let clock = clock.finish();
    let environment = Environment { library, clock, max_size, timeline: args.timeline };
    Runs { args, program, environment }.record_all(&folder)
}

/// Finds the program and the library, and refuses what can be refused before anything is changed.
fn prepare(args: &args::Record) -> Result<(PathBuf, PathBuf, u64), Failure> {
    let program = find_program(&args.command[0])?;
    Ok((program, find_library(LIBRARY, OVERRIDE)?, largest_file(args.max_size)?))
}
