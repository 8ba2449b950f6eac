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

use std::process::ExitCode;
use std::time::Instant;

use syncline_recording::Ending;

use crate::args;
use crate::failure::Failure;
use clock::Clock;
use environment::Environment;
use folder::Folder;

/// Records, and gives the program's own exit status.
pub fn run(args: &args::Record) -> Result<ExitCode, Failure> {
    let program = program::find(&args.command[0])?;
    program::check(&program)?;
    let library = library::find()?;
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
    let child = match child::start(&program, &args.command, &environment) {
        Ok(child) => child,
        Err(failure) => {
            folder.discard();
            return Err(failure);
        }
    };
    let mut session = session::begin(&args.command, child.pid());
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
