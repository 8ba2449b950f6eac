//! `syncline cluster --unmodified`: the program was not written for shared memory over ranks. A library
//! that is loaded into each rank makes its variables, its heap and its threads' stacks shared, and
//! its threads run on the ranks in turn.

use std::path::Path;

use nix::sys::personality::{self, Persona};

use crate::exec::{Variables, preloading};
use crate::failure::{CANNOT_RECORD, Failure};
use crate::record::{check_program, refuse_leak_checker};

/// The library that makes a program's memory shared.
const LIBRARY: &str = "libsyncline_unmodified.so";
/// The environment variable that names another file for this library, for developers of Syncline.
const OVERRIDE: &str = "SYNCLINE_UNMODIFIED";

/// The environment variables that load the library into the program.
///
/// # Errors
///
/// If the library can't be loaded into the program, or is missing.
pub fn variables(program: &Path) -> Result<Variables, Failure> {
    check_program(program)?;
    refuse_leak_checker(program)?;
    // The loader would otherwise write the addresses of functions into the program's variables when
    // they are first called.
    preloading(LIBRARY, OVERRIDE, vec![("LD_BIND_NOW", "1".into())])
}

/// Makes the system put the program, its libraries and its variables at the same addresses in all
/// processes that this one starts.
///
/// # Errors
///
/// If the system refuses.
pub fn randomize_no_addresses() -> Result<(), Failure> {
    let set = |persona: Persona| personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    personality::get().and_then(set).map(|_| ()).map_err(|error| {
        let why = format!("this system does not allow equal addresses in all ranks: {error}");
        Failure::message(CANNOT_RECORD, why).hint(
            "in a container, allow the system call `personality` (Docker: --security-opt \
             seccomp=unconfined)",
        )
    })
}
