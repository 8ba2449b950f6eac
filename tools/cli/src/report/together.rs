//! Several recordings of one program: the recordings that the user names, and the further runs in
//! their folders.

use std::path::{Path, PathBuf};

use syncline_analysis::{Analysis, together};
use syncline_recording::folder::runs;

use crate::failure::{Failure, REPORT_FAILED};

/// The recordings that the user named, each followed by its further runs.
pub fn with_further_runs(named: &[PathBuf]) -> Vec<Run> {
    let mut all = Vec::new();
    for recording in named {
        all.push(Run { recording: recording.clone(), named: true });
        let further = runs(recording).unwrap_or_default().into_iter();
        all.extend(further.map(|recording| Run { recording, named: false }));
    }
    all
}

/// One of the recordings that are read together.
pub struct Run {
    /// The recording's folder, or the file of a single process.
    pub recording: PathBuf,
    /// Whether the user named it. If so, it must be readable.
    named: bool,
}

/// Reads the recordings together. A further run that can't be read is left out; it may have no
/// recorded call.
///
/// # Errors
/// In the same cases as `read`, for a recording that the user named. If the recordings are not of
/// one program.
pub fn read(
    recordings: &[Run],
    read: impl Fn(&Path) -> Result<Analysis, Failure>,
) -> Result<Analysis, Failure> {
    let mut all = Vec::new();
    for run in recordings {
        match read(&run.recording) {
            Ok(analysis) => all.push(analysis),
            Err(failure) if run.named => return Err(failure),
            Err(_) => {}
        }
    }
    match all.len() {
        1 => Ok(all.remove(0)),
        _ => together(all).ok_or_else(|| {
            Failure::message(REPORT_FAILED, "these are not recordings of one program")
                .hint("`syncline diff` compares the recordings of two versions of a program")
        }),
    }
}
