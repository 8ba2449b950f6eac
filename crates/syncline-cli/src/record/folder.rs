//! The folder that a recording is written to.
//!
//! Nothing is ever deleted but a recording: the one that is there becomes `DIR.old`, and
//! replaces an older one of that name. Whatever else is there is left alone and refused.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf, absolute};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use nix::unistd::getuid;
use syncline_recording::process_files;
use syncline_trace::trace_files;

use crate::failure::{Failure, RECORD_FAILED};
use crate::writers::Writers;

/// Less than this is too little for a recording of any use, in bytes.
const LEAST_SPACE: u64 = 16 << 20;
/// A server that root starts may go on as somebody else, who must be able to write here.
const MODE_OF_ROOT: u32 = 0o1777;
/// Addresses and arguments are nobody else's business.
const MODE: u32 = 0o700;

/// A folder of our own, empty so far.
pub struct Folder {
    path: PathBuf,
    made: bool,
}

impl Folder {
    /// Makes the folder, after moving away a recording that is already there.
    ///
    /// # Errors
    /// With [`RECORD_FAILED`], when there is something else, when that recording is still
    /// being written, or when the disk or the rights don't allow it.
    pub fn create(path: &Path) -> Result<Folder, Failure> {
        let path = absolute(path).map_err(|e| Failure::new(RECORD_FAILED, e))?;
        let made = match contents(&path)? {
            Contents::Nothing => true,
            Contents::EmptyFolder => false,
            Contents::Recording => {
                keep_as_old(&path)?;
                true
            }
            Contents::Other => return Err(not_ours(&path)),
        };
        if made {
            make(&path)?;
        }
        let folder = Folder { path: path.canonicalize().unwrap_or(path), made };
        folder.check_space().inspect_err(|_| folder.discard())?;
        Ok(folder)
    }

    /// Its path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes back what [`Folder::create`] made. What can't be taken back is empty and harmless.
    pub fn discard(&self) {
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }

    /// Once nobody writes any more, nobody else needs to.
    pub fn close(&self) {
        if self.made && getuid().is_root() {
            let _ = fs::set_permissions(&self.path, Permissions::from_mode(0o755));
        }
    }

    fn check_space(&self) -> Result<(), Failure> {
        // What can't be asked for will be found out by writing.
        let free = statvfs(&self.path)
            .map_or(u64::MAX, |fs| fs.blocks_available().saturating_mul(fs.fragment_size()));
        if free < LEAST_SPACE {
            let message = format!(
                "only {} KiB are free for {}, and a recording needs {} MiB",
                free >> 10,
                self.path.display(),
                LEAST_SPACE >> 20
            );
            return Err(Failure::message(RECORD_FAILED, message)
                .hint("choose a folder on another disk with -o"));
        }
        Ok(())
    }
}

/// The size that a process's file may have: what was asked for, or less where a limit on
/// this process (`ulimit -f`) would end the program.
///
/// # Errors
/// With [`RECORD_FAILED`], when it is too small for a recording.
pub fn largest_file(asked: u64) -> Result<u64, Failure> {
    let limit = getrlimit(Resource::RLIMIT_FSIZE).map_or(u64::MAX, |(soft, _)| soft);
    let size = asked.min(limit);
    if size < LEAST_SPACE {
        let (what, hint) = if asked <= limit {
            ("--max-size", "give a larger one")
        } else {
            ("the limit on file sizes (ulimit -f)", "raise it with `ulimit -f unlimited`")
        };
        let least = LEAST_SPACE >> 20;
        let message = format!("{what} is under {least} MiB, too little for a recording");
        return Err(Failure::message(RECORD_FAILED, message).hint(hint));
    }
    Ok(size)
}

enum Contents {
    Nothing,
    EmptyFolder,
    Recording,
    Other,
}

fn contents(path: &Path) -> Result<Contents, Failure> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(Contents::Nothing);
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => {
            return Ok(Contents::Other);
        }
        Err(e) => return Err(failed("read", path, e)),
    };
    Ok(if path.join("session.json").is_file() || process_files(path).is_ok() {
        Contents::Recording
    } else if entries.next().is_none() {
        Contents::EmptyFolder
    } else {
        Contents::Other
    })
}

fn keep_as_old(path: &Path) -> Result<(), Failure> {
    if let Some(process) = Writers::of(path).processes().first() {
        let message = format!("process {process} is still being recorded to {}", path.display());
        return Err(Failure::message(RECORD_FAILED, message)
            .hint("end it, or choose another folder with -o"));
    }
    let old = old(path);
    match contents(&old)? {
        Contents::Nothing => {}
        Contents::EmptyFolder | Contents::Recording => remove(&old)?,
        Contents::Other => return Err(not_ours(&old)),
    }
    fs::rename(path, &old).map_err(|e| failed("move away", path, e))
}

fn old(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".old");
    name.into()
}

/// Removes a recording, and nothing but a recording.
fn remove(folder: &Path) -> Result<(), Failure> {
    let mut files = process_files(folder).unwrap_or_default();
    files.extend(trace_files(folder).unwrap_or_default());
    files.extend(["session.json", "session.json.next"].map(|name| folder.join(name)));
    // Traces of this recording, as `syncline inspect --from` left them.
    for trace in ["trace", "trace.old"].map(|name| folder.join(name)) {
        if trace.is_dir() {
            remove(&trace)?;
        }
    }
    for file in files {
        match fs::remove_file(&file) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed("remove", &file, e)),
            _ => {}
        }
    }
    fs::remove_dir(folder).map_err(|e| match e.kind() {
        ErrorKind::DirectoryNotEmpty => not_ours(folder),
        _ => failed("remove", folder, e),
    })
}

fn make(path: &Path) -> Result<(), Failure> {
    let mode = if getuid().is_root() { MODE_OF_ROOT } else { MODE };
    fs::create_dir(path)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode)))
        .map_err(|e| failed("make", path, e))
}

fn failed(what: &str, path: &Path, error: io::Error) -> Failure {
    let context = format!("can't {what} {}", path.display());
    Failure::new(RECORD_FAILED, anyhow::Error::new(error).context(context))
        .hint("choose another folder with -o")
}

fn not_ours(path: &Path) -> Failure {
    let message = format!(
        "{} exists and holds something else than a recording; it was left alone",
        path.display()
    );
    Failure::message(RECORD_FAILED, message).hint("move it away, or choose another folder with -o")
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
            for file in ["session.json", "1.syncline", "trace/session.json", "trace/1.trace"] {
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
}
