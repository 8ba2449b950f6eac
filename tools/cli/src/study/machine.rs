//! Finds the machine that a user names.

use syncline_study::target::{self, Target};

use crate::failure::{Failure, REPORT_FAILED};

/// The machine with this name, or the one that the file with this name describes.
pub fn machine(name: &str) -> Result<Target, Failure> {
    Target::named(name).map_err(|error| match error {
        target::Error::Unknown { .. } => Failure::new(WRONG, error),
        target::Error::Description(_) => Failure::new(REPORT_FAILED, error)
            .hint("docs/machines.md says what such a file contains"),
    })
}

/// The exit status for errors in the command line that clap does not find.
pub const WRONG: u8 = 2;
