//! What a recording's folder says about the run (`session.json`, `refused.json`), and the list of
//! its processes.
//!
//! `session.json` is written when recording starts and again when it ends. So the folder says what
//! was run even if the command was killed.

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
    /// It exited with this status.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
}

/// The content of `session.json`: what was run, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The version of the file's format.
    pub version: u32,
    /// The version of Syncline that recorded.
    pub syncline: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The process number of the program.
    pub pid: u32,
    /// When it was started, in nanoseconds since 1970.
    pub started: u64,
    /// How long it ran, in seconds; `None` while it runs, or if the command that records was
    /// killed.
    pub seconds: Option<f64>,
    /// How it ended; `None` while it runs, or if the command that records was killed.
    pub ending: Option<Ending>,
    /// The number of processors that the program could use.
    pub processors: usize,
    /// For how many seconds these processors had nothing to do, added up; `None` while the program
    /// runs, in windows of time, and in recordings of earlier versions.
    #[serde(default)]
    pub idle: Option<f64>,
    /// The kernel, as `uname -sr` prints it.
    pub kernel: String,
}

impl Session {
    /// The version of `session.json` that this crate writes.
    pub const VERSION: u32 = 1;
    /// The file's name.
    pub const FILE: &str = "session.json";

    /// Writes the file into the folder, in one step: a reader sees the old content or the new one.
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
    /// [`Error::Io`], [`Error::Damaged`], [`Error::Version`], and those of [`Folder::file`].
    pub fn read(folder: &Path) -> Result<Option<Session>, Error> {
        let session: Option<Session> = read_json(folder, Self::FILE)?;
        let found = session.as_ref().map_or(Self::VERSION, |session| session.version);
        if found != Self::VERSION {
            let path = folder.join(Self::FILE);
            return Err(Error::Version { path, found, read: Self::VERSION });
        }
        Ok(session)
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

/// The content of `refused.json`. A folder has this file if the last run into the folder recorded
/// nothing and left the recording of an earlier run there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why the program was not recorded.
    pub why: String,
}

impl Refusal {
    /// The file's name.
    pub const FILE: &str = "refused.json";

    /// Writes the file into the folder of the earlier recording.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write(&self, folder: &Folder) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).expect("a refusal is plain data");
        folder.put(Self::FILE, (text + "\n").as_bytes())
    }
}

/// Checks that a folder's recording is that of the last run into the folder. A single file always
/// passes.
///
/// # Errors
/// [`Error::Refused`] if the last run recorded nothing.
pub fn check_answers(recording: &Path) -> Result<(), Error> {
    if !recording.is_dir() {
        return Ok(());
    }
    // If `refused.json` is unreadable, it is ignored.
    match read_json::<Refusal>(recording, Refusal::FILE) {
        Ok(Some(Refusal { command, why })) => {
            let (path, command) = (recording.to_owned(), command_line(&command));
            Err(Error::Refused { path, command, why })
        }
        _ => Ok(()),
    }
}

/// The names of a recording's processes, in order. The recording is a folder, a file, or one
/// process of a file. Each name can be opened by [`crate::ProcessFile::open`].
///
/// # Errors
/// [`Error::Io`]; [`Error::Refused`], [`Error::Nothing`] or [`Error::Empty`] if the folder has no
/// process of the last run; those of [`Session::read`] if it has no process and its session can't
/// be read.
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

    /// A folder counts as empty only if it has no session.
    #[test]
    fn an_unreadable_session_is_damaged_and_not_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let why = || process_files(folder.path()).expect_err("no process");
        assert!(matches!(why(), Error::Empty(_)));
        let session = folder.path().join(Session::FILE);
        std::fs::write(&session, "{").expect("room");
        assert!(matches!(why(), Error::Damaged { .. }));
        let text = r#"{"version": 9, "syncline": "9", "command": [], "pid": 1, "started": 0,
            "seconds": null, "ending": null, "processors": 2, "idle": null, "kernel": ""}"#;
        std::fs::write(&session, text).expect("room");
        assert!(matches!(why(), Error::Version { found: 9, .. }), "{:?}", why());
        std::fs::remove_file(&session).expect("it is there");
        std::os::unix::fs::symlink("/proc/self/status", &session).expect("a link");
        assert!(matches!(why(), Error::NotPlain(_)));
    }
}
