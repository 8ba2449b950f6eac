//! `syncline exec`: becomes the program, with the library that replaces locks in it.
//!
//! Nothing of Syncline stays behind but the library: no parent process, no files. So signals,
//! process numbers and service managers see the program alone.

mod locks;

pub use locks::Locks;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::args;
use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND, RECORD_FAILED};
use crate::record::{Signals, find_library, find_program, preload};

/// The library that replaces locks.
const LIBRARY: &str = "libsyncline_replace.so";
/// Names another library instead, for those who work on Syncline.
const OVERRIDE: &str = "SYNCLINE_REPLACE";

/// Runs the program in place of Syncline; returns only if that fails.
pub fn run(args: &args::Exec) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let variables = variables(&args.lock)?;
    let inherited = Signals::note().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let mut start = Command::new(&program);
    start.arg0(&args.program.command[0]).args(&args.program.command[1..]).envs(variables);
    if args.report {
        start.env("SYNCLINE_REPLACED", "1");
    }
    // SAFETY: it calls sigaction and pthread_sigmask, and allocates nothing.
    let error = unsafe { start.pre_exec(move || inherited.restore()) }.exec();
    Err(not_started(&program, error))
}

/// What the library is told, and how it gets into the program.
pub fn variables(locks: &Locks) -> Result<[(&'static str, OsString); 2], Failure> {
    let library = find_library(LIBRARY, OVERRIDE)?;
    Ok([
        ("LD_PRELOAD", preload(&library, env::var_os("LD_PRELOAD").as_deref())),
        ("SYNCLINE_LOCKS", locks.names().into()),
    ])
}

fn not_started(program: &Path, error: io::Error) -> Failure {
    let status = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RECORD,
    };
    let context = format!("can't run {}", program.display());
    Failure::new(status, anyhow::Error::new(error).context(context))
}
