//! What is at a path where a recording is to be, and why it can't be there.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use syncline_kernel::run;
use syncline_recording::Session;
use syncline_recording::folder::files;

use crate::failure::{Failure, RECORD_FAILED};

/// What is at the folder's path.
pub enum Kind {
    Nothing,
    EmptyFolder,
    Recording,
    Other,
}

/// What is at this path.
pub fn kind_of(path: &Path) -> Result<Kind, Failure> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(Kind::Nothing);
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {
            return Ok(Kind::Other);
        }
        Err(e) => return Err(failed("read", path, e)),
    };
    let session = path.join(Session::FILE).symlink_metadata();
    let has_files = || files(path, "syncline").is_ok_and(|files| !files.is_empty());
    let of_kernel = path.join(run::FOLDER).join(run::ABOUT).symlink_metadata();
    let is_file = |meta: io::Result<fs::Metadata>| meta.is_ok_and(|meta| meta.is_file());
    Ok(if is_file(session) || is_file(of_kernel) || has_files() {
        Kind::Recording
    } else if entries.next().is_none() {
        Kind::EmptyFolder
    } else {
        Kind::Other
    })
}

/// Something could not be done to what is there.
pub fn failed(what: &str, path: &Path, error: io::Error) -> Failure {
    let context = format!("can't {what} {}", path.display());
    Failure::new(RECORD_FAILED, anyhow::Error::new(error).context(context))
        .hint("choose another folder with -o")
}

/// What is there is no recording.
pub fn not_ours(path: &Path) -> Failure {
    let message = format!(
        "{} exists and holds something else than a recording; it was left alone",
        path.display()
    );
    Failure::message(RECORD_FAILED, message).hint("move it away, or choose another folder with -o")
}
