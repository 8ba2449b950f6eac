//! The files and folders that belong to a recording. Nothing else is ever moved or deleted.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use syncline_kernel::run;
use syncline_recording::folder::{BEFORE, NEXT_WINDOW, SUMS, files, others, runs, windows};
use syncline_recording::{Refusal, Samples, Session};

use crate::failure::{Failure, RECORD_FAILED};

/// The path, within a recording, of an older recording that is to be deleted.
pub fn older(path: &Path) -> PathBuf {
    path.join("older")
}

/// The folders in a recording that belong to it. They are traces that `syncline inspect --from` has
/// written; the folders of other users' processes, of further runs and of windows of time; the data
/// about a kernel; and an older recording.
pub fn parts(path: &Path) -> Vec<PathBuf> {
    let named =
        ["trace", "trace.old", NEXT_WINDOW, SUMS, BEFORE, run::FOLDER].map(|name| path.join(name));
    let listed = [others(path), runs(path)].map(Result::unwrap_or_default).concat();
    let windows = windows(path).unwrap_or_default().into_iter().map(|(_, path)| path);
    let all = named.into_iter().chain(listed).chain(windows).chain([older(path)]);
    all.filter(|part| part.symlink_metadata().is_ok_and(|meta| meta.is_dir())).collect()
}

/// The names of the files in a recording that belong to it. Some of these files may not exist.
pub fn names(path: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = [Session::FILE, Samples::FILE, Refusal::FILE]
        .into_iter()
        .flat_map(|name| [name.into(), format!("{name}.next").into()])
        .collect();
    for ending in ["syncline", "trace"] {
        let files = files(path, ending).unwrap_or_default();
        let own = files.iter().filter(|file| file.parent() == Some(path));
        names.extend(own.filter_map(|file| Some(file.file_name()?.to_owned())));
    }
    // The files that were incomplete when the process that wrote them was killed.
    let unfinished = files(path, "next").unwrap_or_default();
    let unfinished = unfinished.iter().filter(|file| file.parent() == Some(path));
    let unfinished = unfinished.filter(|file| file.to_string_lossy().ends_with(".syncline.next"));
    names.extend(unfinished.filter_map(|file| Some(file.file_name()?.to_owned())));
    if path.file_name() == Some(OsStr::new(run::FOLDER)) {
        names.extend(run::FILES.map(OsString::from));
    }
    names
}

/// Refuses a folder that has anything in it that does not belong to a recording.
pub fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    let (parts, names) = (parts(path), BTreeSet::from_iter(names(path)));
    for entry in fs::read_dir(path).map_err(|e| failed("read", path, e))? {
        let entry = entry.map_err(|e| failed("read", path, e))?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder != parts.contains(&entry.path())
            || !is_folder && !names.contains(&entry.file_name())
        {
            return Err(not_ours(path));
        }
    }
    parts.iter().try_for_each(|part| refuse_foreign(part))
}

/// The failure when an operation on a recording's folder fails.
pub fn failed(what: &str, path: &Path, error: io::Error) -> Failure {
    let context = format!("can't {what} {}", path.display());
    Failure::new(RECORD_FAILED, anyhow::Error::new(error).context(context))
        .hint("choose another folder with -o")
}

/// The failure when the existing folder is not a recording.
pub fn not_ours(path: &Path) -> Failure {
    let message = format!(
        "{} exists and holds something other than a recording; it was left alone",
        path.display()
    );
    Failure::message(RECORD_FAILED, message).hint("move it away, or choose another folder with -o")
}
