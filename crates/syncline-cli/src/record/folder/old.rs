//! The recording that is there already.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use syncline_recording::folder::{self, files, others, runs};
use syncline_recording::{Refusal, Session};

use super::{Kind, failed, not_ours};
use crate::failure::{Failure, RECORD_FAILED};
use crate::writers::Writers;

/// What is there.
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
    Ok(if session.is_ok_and(|meta| meta.is_file()) || has_files() {
        Kind::Recording
    } else if entries.next().is_none() {
        Kind::EmptyFolder
    } else {
        Kind::Other
    })
}

/// Gives it the name `DIR.old`, unless somebody still writes to it. One without any process's file
/// goes, and what has that name already stays.
pub fn keep_as_old(path: &Path) -> Result<(), Failure> {
    if let Some(process) = Writers::of(path).processes().first() {
        let message = format!("process {process} is still being recorded to {}", path.display());
        return Err(Failure::message(RECORD_FAILED, message)
            .hint("end it, or choose another folder with -o"));
    }
    if holds_nothing(path) {
        return remove(path);
    }
    let old = old(path);
    match kind_of(&old)? {
        Kind::Nothing => {}
        Kind::EmptyFolder | Kind::Recording => remove(&old)?,
        Kind::Other => return Err(not_ours(&old)),
    }
    // It answers for itself again, under its new name.
    let forget = folder::Folder::open(path).map(|folder| folder.remove(Refusal::FILE));
    forget
        .map_err(|e| Failure::new(RECORD_FAILED, e))?
        .map_err(|e| failed("move away", path, e))?;
    fs::rename(path, &old).map_err(|e| failed("move away", path, e))
}

fn holds_nothing(path: &Path) -> bool {
    let none = |ending| files(path, ending).is_ok_and(|files| files.is_empty());
    let further = runs(path).unwrap_or_default();
    none("syncline") && none("trace") && further.iter().all(|run| holds_nothing(run))
}

fn old(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}

/// Removes a recording, and nothing but a recording.
fn remove(path: &Path) -> Result<(), Failure> {
    // Traces of this recording, as `syncline inspect --from` left them.
    let traces = ["trace", "trace.old"].map(|name| path.join(name));
    let parts = [others(path), runs(path)].map(Result::unwrap_or_default).concat();
    for part in traces.into_iter().chain(parts) {
        if part.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            remove(&part)?;
        }
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = folder::Folder::open(parent)
        .and_then(|parent| {
            let name = path.file_name().unwrap_or(OsStr::new("."));
            folder::Folder::open_in(parent.as_fd(), name, path)
        })
        .map_err(|e| Failure::new(RECORD_FAILED, e))?;
    let mut names: Vec<_> = [Session::FILE, Refusal::FILE]
        .into_iter()
        .flat_map(|name| [name.into(), format!("{name}.next").into()])
        .collect();
    for ending in ["syncline", "trace"] {
        let files = files(path, ending).unwrap_or_default();
        names.extend(files.iter().filter_map(|file| Some(file.file_name()?.to_owned())));
    }
    for name in names {
        folder.remove(&name).map_err(|e| failed("remove", &path.join(&name), e))?;
    }
    fs::remove_dir(path).map_err(|e| match e.kind() {
        ErrorKind::DirectoryNotEmpty => not_ours(path),
        _ => failed("remove", path, e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_goes_with_its_traces_and_with_nothing_else() {
        let all = tempfile::tempdir().expect("a folder");
        let make = |extra: &str| {
            let folder = all.path().join("recording.old");
            fs::create_dir_all(folder.join("trace")).expect("a folder");
            fs::create_dir_all(folder.join("others-1")).expect("a folder");
            fs::create_dir_all(folder.join("run-2/trace")).expect("a folder");
            let files = [
                "session.json",
                "refused.json",
                "1.syncline",
                "others-1/1.syncline",
                "trace/session.json",
                "trace/1.trace",
                "run-2/session.json",
                "run-2/1.syncline",
                "run-2/trace/1.trace",
            ];
            for file in files {
                fs::write(folder.join(file), "").expect("a file");
            }
            fs::write(folder.join(extra), "").expect("a file");
            folder
        };
        let ours = make("trace/2.trace");
        assert!(remove(&ours).is_ok() && !ours.exists());
        let foreign = make("trace/notes.txt");
        assert!(remove(&foreign).is_err());
        assert!(foreign.join("trace/notes.txt").exists());
    }

    #[test]
    fn the_old_name_keeps_the_folder() {
        assert_eq!(old(Path::new("/tmp/a.b/c")), Path::new("/tmp/a.b/c.old"));
    }

    #[test]
    fn a_recording_of_nothing_does_not_become_the_old_one() {
        let all = tempfile::tempdir().expect("a folder");
        let path = all.path().join("recording");
        for (folder, file) in [("recording.old", "1.syncline"), ("recording", "session.json")] {
            let folder = all.path().join(folder);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join(file), "").expect("a file");
        }
        assert!(keep_as_old(&path).is_ok() && !path.exists());
        assert!(all.path().join("recording.old/1.syncline").exists());
    }
}
