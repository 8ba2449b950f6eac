//! `syncline mpi`: becomes the program, with a library loaded that replaces the locks of MPI
//! windows.
//!
//! Usually the program is a launcher such as `mpirun`. The processes that it starts on this host
//! inherit the environment variables, and so load the library. For other hosts, the launcher has to
//! pass these variables on (docs/mpi.md).

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::PossibleValue;
use clap::builder::PossibleValuesParser;
use syncline::window::Scheme;

use crate::arguments::Program;
use crate::exec::{Variables, become_program, preloading};
use crate::failure::Failure;
use crate::record::find_program;
use crate::statuses;

/// Run an MPI program with other locks for its windows
///
/// The program is neither changed nor recompiled. PROGRAM is the command that starts it, such as
/// `mpirun -n 4 ./app`. A window's lock scheme is the value of its Info key `passive_sync_mode`, or
/// else that of --scheme. Windows without either keep the MPI library's own locks. docs/mpi.md says
/// when to use which scheme.
#[derive(clap::Args)]
#[command(
    override_usage = "syncline mpi [OPTIONS] [--] PROGRAM [ARGUMENTS]...",
    after_long_help = statuses::RUNNING
)]
pub struct Mpi {
    /// Lock scheme of windows without the Info key [default: library]
    #[arg(short, long, value_name = "SCHEME", value_parser = schemes())]
    pub scheme: Option<String>,

    #[command(flatten)]
    pub program: Program,
}

/// The library that replaces the locks of windows.
const LIBRARY: &str = "libsyncline_mpi.so";
/// The environment variable that names another file for this library, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_MPI";

/// Replaces this process by the program. Returns only on failure.
pub fn run(args: &Mpi) -> Result<ExitCode, Failure> {
    let program = find_program(&args.program.command[0])?;
    let mut variables: Variables = Vec::new();
    if let Some(scheme) = &args.scheme {
        variables.push(("SYNCLINE_PASSIVE_SYNC_MODE", OsString::from(scheme)));
    }
    let variables = preloading(LIBRARY, OVERRIDE, variables)?;
    become_program(&program, &args.program.command, variables)
}

/// The names that `--scheme` accepts, with their meanings.
pub fn schemes() -> PossibleValuesParser {
    let ours = Scheme::ALL.map(|scheme| PossibleValue::new(scheme.name()).help(scheme.idea()));
    let library = PossibleValue::new("library").help("the MPI library's own locks");
    PossibleValuesParser::new(ours.into_iter().chain([library]))
}
