//! The failure of a command: what happened, what the user can do, and the exit status for scripts.
//! The exit statuses are part of the interface and never change.

use std::fmt;
use std::io;
use std::path::Path;

use syncline_code::locate::Missing;

/// A recording can't be read, a report can't be written, or the machine can't be measured.
pub const REPORT_FAILED: u8 = 1;
/// For commands that run a program: Syncline itself failed, before or after it ran the program.
pub const RECORD_FAILED: u8 = 125;
/// For commands that run a program: the program exists, but can't be run or can't be recorded.
pub const CANNOT_RECORD: u8 = 126;
/// For commands that run a program or attach to a process: there is no such program or process, or
/// the program's loader is missing.
pub const NOT_FOUND: u8 = 127;

/// What to do about a full disk.
pub const OTHER_DISK: &str = "free some space, or choose a folder on another disk with -o";

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    status: u8,
    error: anyhow::Error,
    hint: Option<String>,
    of_no_run: bool,
}

impl Failure {
    /// The failure of a command that was given a call site which was not found in the program.
    pub fn no_call_site(name: &str, program: impl fmt::Display, missing: Missing) -> Failure {
        let why = match missing {
            Missing::NoSuchName => "",
            Missing::NoSymbols => ", which has no symbols",
            Missing::Changed => ": it is an address of another build of the program",
        };
        let message = format!("can't find the call site `{name}` in {program}{why}");
        Failure::message(RECORD_FAILED, message)
            .hint("`syncline report --tables` lists the call sites that acquire locks")
    }

    /// A failure with this exit status and this error.
    pub fn new(status: u8, error: impl Into<anyhow::Error>) -> Failure {
        Failure { status, error: error.into(), hint: None, of_no_run: false }
    }

    /// A failure with this exit status and this message.
    pub fn message(status: u8, message: impl fmt::Display) -> Failure {
        Failure::new(status, anyhow::anyhow!("{message}"))
    }

    /// The failure when a recording can't be read.
    pub fn unreadable(recording: &Path, error: impl Into<anyhow::Error>) -> Failure {
        let failure = Failure::new(REPORT_FAILED, error);
        let is_of_ours = recording.extension().is_some_and(|ending| ending == "syncline");
        match recording.metadata() {
            Err(_) => failure.hint("`syncline record -- PROGRAM` makes a recording"),
            Ok(file) if file.is_file() && !is_of_ours => failure
                .hint("a recording is a folder: name the one that `syncline record` has written"),
            Ok(_) => failure,
        }
    }

    /// This failure with another exit status.
    pub fn with_status(self, status: u8) -> Failure {
        Failure { status, ..self }
    }

    /// Marks a failure whose reason is that the command can't run at all, with or without Syncline.
    pub fn of_no_run(self) -> Failure {
        Failure { of_no_run: true, ..self }
    }

    /// Whether the reason is that the command can't run at all. A mistyped command is an example.
    pub fn is_of_no_run(&self) -> bool {
        self.of_no_run
    }

    /// Adds a hint: what the user can do.
    pub fn hint(mut self, hint: impl fmt::Display) -> Failure {
        self.hint = Some(hint.to_string());
        self
    }

    /// This failure, with the host on which it has happened.
    pub fn on(self, host: &str) -> Failure {
        Failure { error: anyhow::anyhow!("on {host}: {}", self.what()), ..self }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// The text that says what happened, without the hint.
    pub fn what(&self) -> String {
        let mut told = self.error.to_string();
        for cause in self.error.chain().skip(1).map(ToString::to_string) {
            // Some errors already end with the text of their cause.
            if !told.ends_with(&cause) {
                told = format!("{told}: {cause}");
            }
        }
        told
    }

    /// The kind of the I/O error that is the root cause, or `None` if the root cause is another
    /// kind of error.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.error.root_cause().downcast_ref::<io::Error>().map(io::Error::kind)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "syncline: {}", self.what())?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
