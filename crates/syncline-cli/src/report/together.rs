//! Several recordings of one program: those that were named, and the further runs in the folder of each.

use std::path::{Path, PathBuf};

use syncline_analysis::{Analysis, together};
use syncline_recording::folder::runs;

use crate::failure::{Failure, REPORT_FAILED};

/// Reads the recordings as one. Further runs of which nothing was recorded are left out.
///
/// # Errors
/// Those of `read`, for a recording that was named; and if they are not of one program.
pub fn read(
    named: &[PathBuf],
    read: impl Fn(&Path) -> Result<Analysis, Failure>,
) -> Result<Analysis, Failure> {
    let mut all = Vec::new();
    for recording in named {
        all.push(read(recording)?);
        for run in runs(recording).unwrap_or_default() {
            all.extend(read(&run).ok());
        }
    }
    match all.len() {
        1 => Ok(all.remove(0)),
        _ => together(all).ok_or_else(|| {
            Failure::message(REPORT_FAILED, "these are not recordings of one program")
                .hint("`syncline diff` compares the recordings of two versions of one")
        }),
    }
}
