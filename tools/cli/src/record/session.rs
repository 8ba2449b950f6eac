//! The session file `session.json`, which describes the run.

use std::ffi::OsString;
use std::io::{ErrorKind, Write, stderr};
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::sys::utsname::uname;
use syncline_recording::keeper::{Keeper, Wanted};
use syncline_recording::{Error, Session};

use super::folder::Folder;

/// The session of a program that has just been started.
pub fn begin(command: &[OsString], pid: u32) -> Session {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Session {
        version: Session::VERSION,
        syncline: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        pid,
        started: since_1970.as_nanos() as u64,
        seconds: None,
        ending: None,
        processors: available_parallelism().map_or(1, usize::from),
        idle: None,
        kernel: kernel(),
    }
}

/// Writes the session file. If the folder is gone or its disk is full, this only prints a message:
/// the program is running already, and its recording is worth more than this file. Returns `false`
/// only if the disk was full.
pub fn write(session: &Session, folder: &Folder) -> bool {
    let Err(error) = session.write(folder.opened()) else { return true };
    // An error is ignored: standard error may be closed, and there is no other place for the
    // message.
    let _ = writeln!(stderr(), "syncline: {error}");
    let Error::Io { source, .. } = error else { return true };
    !matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Starts to keep windows of time of a running program.
pub fn keep_windows(folder: &Folder, session: &Session, wanted: Wanted) -> Keeper {
    Keeper::start(folder.path(), session, wanted, |window, error| {
        // An error is ignored: standard error may be closed, and there is no other place for the
        // message.
        let _ = writeln!(stderr(), "syncline: window {window} was not kept: {error}");
    })
}

fn kernel() -> String {
    uname().map_or_else(
        |_| String::new(),
        |name| format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy()),
    )
}
