//! Keeps the recording that is already at the path of a new one, under another name.
//!
//! The recording becomes `DIR.old`, and an older one of that name is deleted. But deleting
//! thousands of files takes long. Afterwards the creation of new files is slow for a while, because
//! ext4 skips the inode numbers of files that were just deleted. So the older recording is moved
//! into the one that gets its name, and is deleted after the program has ended:
//!
//! ```text
//! DIR.old --> DIR/older      DIR --> DIR.old      the program runs      DIR.old/older is removed
//! ```
//!
//! No recording is lost if a command is killed at any point of this.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use syncline_recording::folder::{self, files, runs};
use syncline_recording::{Refusal, Writers};

use super::kind::{Kind, kind_of};
use super::parts::{failed, names, not_ours, older, parts, refuse_foreign};
use crate::failure::{Failure, RECORD_FAILED};

/// Renames the recording at `path` to `DIR.old`, and returns true. Fails if a process still writes
/// to it. If the recording has no process's file, it is deleted, an earlier `DIR.old` stays, and
/// the result is false.
pub fn keep_as_old(path: &Path) -> Result<bool, Failure> {
    if let Some(process) = Writers::of(path).processes().first() {
        let message = format!("process {process} is still being recorded to {}", path.display());
        return Err(Failure::message(RECORD_FAILED, message)
            .hint("end it, or choose another folder with -o"));
    }
    if holds_nothing(path) {
        return remove(path).map(|()| false);
    }
    let old = old(path);
    let older = match kind_of(&old)? {
        Kind::Nothing => None,
        Kind::EmptyFolder => {
            remove(&old)?;
            None
        }
        Kind::Recording => Some(older(path)),
        Kind::Other => return Err(not_ours(&old)),
    };
    let moved = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| failed("move", from, e));
    if let Some(older) = &older {
        refuse_foreign(&old)?;
        // A command that was killed between its two moves has left this.
        if older.symlink_metadata().is_ok() {
            remove(older)?;
        }
        moved(&old, older)?;
    }
    // If this command is killed here, it leaves a recording that contains an older one. A later
    // command deletes the older one, either together with the outer recording or before.
    let forget = folder::Folder::open(path).map(|folder| folder.remove(Refusal::FILE));
    forget.map_err(|e| Failure::new(RECORD_FAILED, e))?.map_err(|e| failed("move", path, e))?;
    moved(path, &old).map(|()| true)
}

/// Undoes [`keep_as_old`], because nothing was recorded: the recordings get their previous names. A
/// recording that can't be moved stays where it is.
pub fn give_back(path: &Path) {
    let old = old(path);
    if fs::rename(&old, path).is_ok() {
        let _ = fs::rename(older(path), old);
    }
}

/// Deletes the recording that had the name `DIR.old` before the present one got it, if there was
/// one.
pub fn remove_older(path: &Path) -> Result<(), Failure> {
    let older = older(&old(path));
    if !matches!(kind_of(&older)?, Kind::Recording) {
        return Ok(());
    }
    refuse_foreign(&older)?;
    remove(&older)
}

fn holds_nothing(path: &Path) -> bool {
    let none = |ending| files(path, ending).is_ok_and(|files| files.is_empty());
    let mut further = runs(path).unwrap_or_default();
    further.extend(Some(older(path)).filter(|older| older.exists()));
    none("syncline") && none("trace") && further.iter().all(|run| holds_nothing(run))
}

fn old(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}

/// Deletes a recording, and nothing that is not part of it.
fn remove(path: &Path) -> Result<(), Failure> {
    parts(path).iter().try_for_each(|part| remove(part))?;
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = folder::Folder::open(parent)
        .and_then(|parent| {
            let name = path.file_name().unwrap_or(OsStr::new("."));
            folder::Folder::open_in(parent.as_fd(), name, path)
        })
        .map_err(|e| Failure::new(RECORD_FAILED, e))?;
    for name in names(path) {
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
    fn removing_a_recording_removes_its_traces_only() {
        let all = tempfile::tempdir().expect("a folder");
        let make = |extra: &str| {
            let folder = all.path().join("recording.old");
            fs::create_dir_all(folder.join("trace")).expect("a folder");
            fs::create_dir_all(folder.join("others-1")).expect("a folder");
            fs::create_dir_all(folder.join("run-2/trace")).expect("a folder");
            fs::create_dir_all(folder.join("window-7/sums")).expect("a folder");
            fs::create_dir_all(folder.join("window-7/before")).expect("a folder");
            fs::create_dir_all(folder.join("window-next/sums")).expect("a folder");
            fs::create_dir_all(folder.join("kernel")).expect("a folder");
            let files = [
                "session.json",
                "samples.json",
                "refused.json",
                "1.syncline",
                "others-1/1.syncline",
                "trace/session.json",
                "trace/1.trace",
                "run-2/session.json",
                "run-2/1.syncline",
                "run-2/trace/1.trace",
                "window-7/session.json",
                "window-7/1.syncline",
                "window-7/sums/1.syncline",
                "window-7/before/1.syncline",
                "window-7/sums/1-20.syncline",
                "window-next/sums/1.syncline.next",
                "window-next/session.json",
                "kernel/run.json",
                "kernel/btf",
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
        fs::remove_file(foreign.join("trace/notes.txt")).expect("a file");
        let foreign = make("kernel/notes.txt");
        assert!(refuse_foreign(&foreign).is_err() && foreign.join("kernel/notes.txt").exists());
    }

    /// A temporary folder with these files. The path of a file names the folder that contains it.
    fn recordings(files: &[&str]) -> tempfile::TempDir {
        let all = tempfile::tempdir().expect("a folder");
        for file in files {
            let file = all.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, "").expect("a file");
        }
        all
    }

    #[test]
    fn an_older_recording_stays_until_removed() {
        let all = recordings(&["r/2.syncline", "r.old/1.syncline"]);
        let there = |file: &str| all.path().join(file).exists();
        let path = all.path().join("r");
        assert!(keep_as_old(&path).unwrap_or_else(|_| panic!("moved")));
        assert!(!path.exists() && there("r.old/2.syncline") && there("r.old/older/1.syncline"));
        give_back(&path);
        assert!(there("r/2.syncline") && there("r.old/1.syncline") && !there("r/older"));
        assert!(keep_as_old(&path).unwrap_or_else(|_| panic!("moved")));
        remove_older(&path).unwrap_or_else(|_| panic!("removed"));
        assert!(!there("r.old/older") && there("r.old/2.syncline"));
        remove_older(&path).unwrap_or_else(|_| panic!("there is none"));
    }

    /// A command that is killed leaves one of these states. The next command continues from there.
    #[test]
    fn interrupted_moves_lose_nothing() {
        let between_the_moves = ["r/2.syncline", "r/older/1.syncline"];
        let before_the_removal = ["r/3.syncline", "r.old/2.syncline", "r.old/older/1.syncline"];
        let both = ["r/3.syncline", "r/older/1.syncline", "r.old/2.syncline"];
        for left in [&between_the_moves[..], &before_the_removal, &both] {
            let all = recordings(left);
            let path = all.path().join("r");
            assert!(matches!(kind_of(&path), Ok(Kind::Recording)));
            keep_as_old(&path).unwrap_or_else(|_| panic!("moved"));
            let newest = Path::new(left[0]).file_name().expect("a name");
            assert!(all.path().join("r.old").join(newest).exists());
            remove_older(&path).unwrap_or_else(|_| panic!("removed"));
            assert!(!all.path().join("r.old/older").exists());
        }
    }

    #[test]
    fn foreign_files_stay_where_they_are() {
        for foreign in ["r.old/notes.txt", "r.old/run-2/trace/notes.txt", "r.old/older/a/b"] {
            let files = ["r/2.syncline", "r.old/1.syncline", "r.old/run-2/1.syncline", foreign];
            let all = recordings(&files);
            assert!(keep_as_old(&all.path().join("r")).is_err());
            assert!(files.iter().all(|file| all.path().join(file).exists()));
        }
    }

    /// A command that is killed at its beginning leaves a folder without a session file.
    #[test]
    fn a_recording_without_session_is_replaced() {
        for begun in ["r/1.syncline.next", "r/session.json.next", "r/others-1"] {
            let all = recordings(&[begun, "r.old/1.syncline"]);
            let path = all.path().join("r");
            if begun == "r/others-1" {
                fs::remove_file(all.path().join(begun)).expect("it was there");
                fs::create_dir(all.path().join(begun)).expect("a folder");
            }
            assert!(matches!(kind_of(&path), Ok(Kind::Recording)), "{begun}");
            keep_as_old(&path).unwrap_or_else(|_| panic!("moved or removed: {begun}"));
            assert!(!path.exists());
        }
        for foreign in ["r/notes.txt", "r/others-1/notes.txt", "r/notes.next", "r/trace/a"] {
            let all = recordings(&["r/1.syncline.next", foreign]);
            assert!(matches!(kind_of(&all.path().join("r")), Ok(Kind::Other)), "{foreign}");
        }
    }

    #[test]
    fn the_old_name_is_in_the_same_folder() {
        assert_eq!(old(Path::new("/tmp/a.b/c")), Path::new("/tmp/a.b/c.old"));
    }

    #[test]
    fn an_empty_recording_does_not_replace_the_old_one() {
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
