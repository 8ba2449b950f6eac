//! Reads the policy of `syncline exec --policy`, and prepares it for a program.

use std::ffi::OsStr;
use std::path::Path;

use syncline_policy::{Files, Plan, Policy};
use syncline_targets::Locks;

use crate::failure::{Failure, RECORD_FAILED};
use crate::record::find_program;

/// Reads a policy file.
pub fn read(path: &Path) -> Result<Policy, Failure> {
    let check = |names: &str| names.parse::<Locks>().map(|locks| locks.names());
    Policy::read(path, check).map_err(|error| {
        Failure::new(RECORD_FAILED, error)
            .hint("`man syncline-policy`, or docs/policy.md, describes policy files")
    })
}

/// Prepares a policy: looks up its names in the program that will run or, if the policy names
/// another program, in that one.
pub fn plan(policy: &Policy, program: &Path) -> Result<Plan, Failure> {
    let named = policy.program.as_deref().map(Path::new);
    let other = named.filter(|named| named.file_name() != program.file_name());
    let program = match other {
        Some(named) => find_program(OsStr::new(named))?,
        None => program.to_owned(),
    };
    Plan::new(policy, &files(&program)?).map_err(|what| Failure::message(RECORD_FAILED, what))
}

/// The files of a program, in which the names of a policy are looked up.
pub fn files(program: &Path) -> Result<Files, Failure> {
    Files::of(program).map_err(|error| {
        let message = format!("can't read the names in {}: {error}", program.display());
        Failure::message(RECORD_FAILED, message).hint(
            "if this is a script, name the program that it runs in a policy: `program = \"/path\"`",
        )
    })
}
