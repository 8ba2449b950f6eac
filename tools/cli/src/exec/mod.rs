//! `syncline exec`: becomes the program, with a library loaded that replaces the program's locks.
//!
//! Only this library remains of Syncline; there is no parent process and no file. So the program
//! gets all signals itself, and has the process number that a service manager expects.

pub mod args;
mod place;
mod policy;

pub use place::Placement;
pub use policy::{files, plan, read};

use std::env;
use std::ffi::OsString;
use std::io::{self, Write, stderr};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use syncline_policy::Plan;
use syncline_targets::Locks;

use crate::failure::{CANNOT_RECORD, Failure, NOT_FOUND, RECORD_FAILED};
use crate::record::{Signals, find_library, find_program, preload};

/// The library that replaces locks.
const LIBRARY: &str = "libsyncline_replace.so";
/// The environment variable that names another file for this library, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_REPLACE";

/// Replaces this process by the program. Returns only on failure.
pub fn run(args: &args::Exec) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let mut variables = match (&args.policy, &args.lock) {
        (Some(path), _) => by_policy(path, &program)?,
        (None, Some(locks)) => variables(locks)?,
        (None, None) => preloaded(Vec::new())?,
    };
    if let Some(place) = args.place {
        variables.push(place.variable()?);
    }
    if args.report {
        variables.push(("SYNCLINE_REPLACED", "1".into()));
    }
    become_program(&program, &args.program.command, variables)
}

/// Replaces this process by a program, with these environment variables added. Returns only on
/// failure.
pub fn become_program(
    program: &Path,
    command: &[OsString],
    variables: Variables,
) -> Result<ExitCode, Failure> {
    let inherited = Signals::note().map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let mut start = Command::new(program);
    start.arg0(&command[0]).args(&command[1..]).envs(variables);
    // SAFETY: `restore` only calls sigaction, pthread_sigmask and the system call rt_sigaction,
    // which may be called between fork and exec, and allocates nothing.
    let error = unsafe { start.pre_exec(move || inherited.restore()) }.exec();
    Err(not_started(program, error))
}

/// The environment variables that load the library into a program and name the locks to use.
pub fn variables(locks: &Locks) -> Result<Variables, Failure> {
    // If this command itself runs under a policy, that policy would take precedence over the names,
    // so it is removed.
    preloaded(vec![("SYNCLINE_LOCKS", locks.names().into()), ("SYNCLINE_POLICY", "".into())])
}

/// The environment variables that apply the policy in a file to a program. Prints on standard error
/// which rules match nothing any more.
fn by_policy(path: &Path, program: &Path) -> Result<Variables, Failure> {
    let policy = read(path)?;
    let plan = plan(&policy, program)?;
    for remark in &plan.remarks {
        // An error is ignored: standard error may be closed, and the program is run in any case.
        let _ = writeln!(stderr(), "syncline: {}:{}: {remark}", path.display(), remark.line);
    }
    planned(&plan)
}

/// The environment variables that apply a prepared policy.
pub fn planned(plan: &Plan) -> Result<Variables, Failure> {
    preloaded(vec![("SYNCLINE_POLICY", plan.variable.clone().into())])
}

/// The environment variables that pin threads to processors as `placement` says.
pub fn placed(placement: Placement) -> Result<Variables, Failure> {
    preloaded(vec![placement.variable()?])
}

/// Environment variables with their values.
pub type Variables = Vec<(&'static str, OsString)>;

fn preloaded(variables: Variables) -> Result<Variables, Failure> {
    preloading(LIBRARY, OVERRIDE, variables)
}

/// Adds the variable that loads a library of Syncline into the program. A developer can name
/// another file for the library in the environment variable `named`.
pub fn preloading(
    library: &str,
    named: &str,
    mut variables: Variables,
) -> Result<Variables, Failure> {
    let library = find_library(library, named)?;
    let preload = preload(&library, env::var_os("LD_PRELOAD").as_deref());
    variables.push(("LD_PRELOAD", preload));
    Ok(variables)
}

fn not_started(program: &Path, error: io::Error) -> Failure {
    let status = match error.kind() {
        io::ErrorKind::NotFound => NOT_FOUND,
        _ => CANNOT_RECORD,
    };
    let context = format!("can't run {}", program.display());
    Failure::new(status, anyhow::Error::new(error).context(context))
}
