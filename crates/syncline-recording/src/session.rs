//! The folder of a recording: one file for each process, and `session.json`.
//!
//! `session.json` is written when recording starts and once more when it ends, so that a
//! folder whose recorder was killed still says what was run.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;

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
    /// How long it ran, in seconds; none while it runs or if the recorder was killed.
    pub seconds: Option<f64>,
    /// How it ended; none while it runs or if the recorder was killed.
    pub ending: Option<Ending>,
    /// Processors that the program could use.
    pub processors: usize,
    /// Kernel, as `uname -sr` gives it.
    pub kernel: String,
}

impl Session {
    /// The version of `session.json` that this crate writes.
    pub const VERSION: u32 = 1;
    const FILE: &str = "session.json";

    /// Writes it into the folder, in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(Self::FILE);
        let next = folder.join("session.json.next");
        let text = serde_json::to_string_pretty(self).expect("a session is plain data");
        fs::write(&next, text + "\n")
            .and_then(|()| fs::rename(&next, &path))
            .map_err(|source| Error::Io { path, source })
    }

    /// Reads the folder's session; none if the folder has none.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`]
    pub fn read(folder: &Path) -> Result<Option<Session>, Error> {
        let path = folder.join(Self::FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Io { path, source }),
        };
        match serde_json::from_str(&text) {
            Ok(session) => Ok(Some(session)),
            Err(e) => Err(Error::Damaged { path, what: e.to_string() }),
        }
    }
}

/// The process files of a recording, which may be a folder or one such file, in the order
/// of their names.
///
/// # Errors
/// [`Error::Io`], or [`Error::Empty`] if the folder has none.
pub fn process_files(recording: &Path) -> Result<Vec<PathBuf>, Error> {
    let io = |source| Error::Io { path: recording.to_owned(), source };
    if !fs::metadata(recording).map_err(io)?.is_dir() {
        return Ok(vec![recording.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(recording).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|e| e == "syncline") {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Error::Empty(recording.to_owned()));
    }
    files.sort();
    Ok(files)
}
