//! The folder of a recording: one file for each process, and `session.json`.
//!
//! `session.json` is written when recording starts and once more when it ends. So a folder whose
//! recorder was killed still says what was run.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::family;
use crate::folder::{Folder, files};
use crate::shell::command_line;

/// How the recorded program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It returned this status.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
}

/// What was run, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Version of this file's format.
    pub version: u32,
    /// The version of Syncline that recorded.
    pub syncline: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Process number of the program.
    pub pid: u32,
    /// When it was started, in nanoseconds since 1970.
    pub started: u64,
    /// How long it ran, in seconds; `None` while it runs or if the recorder was killed.
    pub seconds: Option<f64>,
    /// How it ended; `None` while it runs or if the recorder was killed.
    pub ending: Option<Ending>,
    /// Processors that the program could use.
    pub processors: usize,
    /// Seconds in which these processors had nothing to do, all of them together; `None` while the
    /// program runs, in windows of time, and in recordings of earlier versions.
    #[serde(default)]
    pub idle: Option<f64>,
    /// Kernel, as `uname -sr` gives it.
    pub kernel: String,
}

impl Session {
    /// The version of `session.json` that this crate writes.
    pub const VERSION: u32 = 1;
    /// The file's name.
    pub const FILE: &str = "session.json";

    /// Writes it into the folder, in one step: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write(&self, folder: &Folder) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).expect("a session is plain data");
        folder.put(Self::FILE, (text + "\n").as_bytes())
    }

    /// Reads the folder's session; `None` if the folder has none.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`], and those of [`Folder::file`].
    pub fn read(folder: &Path) -> Result<Option<Session>, Error> {
        read_json(folder, Self::FILE)
    }
}

/// Reads a file of the folder; `None` if there is no such file.
pub fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, Error> {
    let path = folder.join(name);
    let mut file = match Folder::open(folder)?.file(OsStr::new(name), false) {
        Ok((file, _)) => file,
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) => {}
        Err(source) => return Err(Error::Io { path, source }),
    }
    match serde_json::from_str(&text) {
        Ok(value) => Ok(Some(value)),
        Err(e) => Err(Error::Damaged { path, what: e.to_string() }),
    }
}

/// The content of `refused.json` in a folder: the last run into the folder recorded nothing, and
/// left the recording of an earlier run there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why it was not recorded.
    pub why: String,
}

impl Refusal {
    /// The file's name.
    pub const FILE: &str = "refused.json";

    /// Writes it into the folder of the earlier recording.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write(&self, folder: &Folder) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).expect("a refusal is plain data");
        folder.put(Self::FILE, (text + "\n").as_bytes())
    }
}

/// Checks that a folder's recording is of the last run into the folder. A single file always
/// passes.
///
/// # Errors
/// [`Error::Refused`] if the last run recorded nothing.
pub fn check_answers(recording: &Path) -> Result<(), Error> {
    if !recording.is_dir() {
        return Ok(());
    }
    // An unreadable note is ignored.
    match read_json::<Refusal>(recording, Refusal::FILE) {
        Ok(Some(Refusal { command, why })) => {
            let (path, command) = (recording.to_owned(), command_line(&command));
            Err(Error::Refused { path, command, why })
        }
        _ => Ok(()),
    }
}

/// The processes of a recording, in the order of their names. The recording is a folder, a file, or
/// one process of a file. [`crate::ProcessFile`] opens each of them.
///
/// # Errors
/// [`Error::Io`]; [`Error::Refused`], [`Error::Nothing`] or [`Error::Empty`] if the folder has no
/// process of the last run, or those of [`Session::read`] if it has none and the session can't be
/// read.
pub fn process_files(recording: &Path) -> Result<Vec<PathBuf>, Error> {
    if family::place(recording).1 != 0 {
        return Ok(vec![recording.to_owned()]);
    }
    let files = files(recording, "syncline")?;
    check_answers(recording)?;
    if !files.is_empty() {
        let processes = files.iter().flat_map(|file| family::processes(file));
        return Ok(processes.map(|(process, _)| process).collect());
    }
    let path = recording.to_owned();
    Err(match Session::read(recording) {
        Ok(Some(session)) => Error::Nothing { path, command: command_line(&session.command) },
        Ok(None) => Error::Empty(path),
        Err(error) => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder is called empty only if it has no session.
    #[test]
    fn a_session_that_can_not_be_read_is_said_to_be_that() {
        let folder = tempfile::tempdir().expect("a folder");
        let why = || process_files(folder.path()).expect_err("no process");
        assert!(matches!(why(), Error::Empty(_)));
        let session = folder.path().join(Session::FILE);
        std::fs::write(&session, "{").expect("room");
        assert!(matches!(why(), Error::Damaged { .. }));
        std::fs::remove_file(&session).expect("it is there");
        std::os::unix::fs::symlink("/proc/self/status", &session).expect("a link");
        assert!(matches!(why(), Error::NotPlain(_)));
    }
}
