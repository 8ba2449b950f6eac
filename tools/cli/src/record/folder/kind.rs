//! Finds out what is already at the path of a new recording.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use syncline_kernel::run;
use syncline_recording::Session;
use syncline_recording::folder::{files, others};

use super::parts::{failed, parts, refuse_foreign};
use crate::failure::Failure;

/// The kind of thing at the path of a new recording.
pub enum Kind {
    Nothing,
    EmptyFolder,
    Recording,
    Other,
}

/// Finds out what is at this path.
pub fn kind_of(path: &Path) -> Result<Kind, Failure> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(Kind::Nothing);
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {
            return Ok(Kind::Other);
        }
        Err(e) => return Err(failed("use", path, e)),
    };
    let session = path.join(Session::FILE).symlink_metadata();
    let has_files = || files(path, "syncline").is_ok_and(|files| !files.is_empty());
    let of_kernel = path.join(run::FOLDER).join(run::ABOUT).symlink_metadata();
    let is_file = |meta: io::Result<fs::Metadata>| meta.is_ok_and(|meta| meta.is_file());
    Ok(if is_file(session) || is_file(of_kernel) || has_files() {
        Kind::Recording
    } else if entries.next().is_none() {
        Kind::EmptyFolder
    } else if is_begun(path) {
        Kind::Recording
    } else {
        Kind::Other
    })
}

/// Whether the folder has only what a command makes before it writes its session file: unfinished
/// files, and the subfolder for other users.
fn is_begun(path: &Path) -> bool {
    let no_further = |others: Vec<PathBuf>| parts(path).iter().all(|part| others.contains(part));
    refuse_foreign(path).is_ok() && others(path).is_ok_and(no_further)
}
