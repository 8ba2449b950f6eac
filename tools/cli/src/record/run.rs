//! One run of a program that writes to a folder.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use syncline_recording::Ending;
use syncline_recording::keeper::Wanted;

use super::folder::Folder;
use super::{child, idle, sampling, session};
use crate::failure::{Failure, OTHER_DISK, RECORD_FAILED};

/// A run of a program, which has ended.
pub struct Run {
    ending: Ending,
    /// Whether the disk had no room to record in `session.json` how the program ended.
    no_room: bool,
}

/// Runs a program that writes to the folder, with these environment variables added, and writes the
/// folder's session file. If the program can't be started, the folder is discarded.
///
/// # Errors
/// In the same cases as `child::start` and its `wait`.
pub fn run_in(
    folder: &Folder,
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
) -> Result<Run, Failure> {
    run(folder, program, command, variables, None, false)
}

/// Like [`run_in`], but also samples the program's threads. If `windows` is given, also saves what
/// was recorded in each window of time (`record --every`).
///
/// # Errors
/// In the same cases as [`run_in`].
pub fn run_sampled(
    folder: &Folder,
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
    windows: Option<Wanted>,
) -> Result<Run, Failure> {
    run(folder, program, command, variables, windows, true)
}

fn run(
    folder: &Folder,
    program: &Path,
    command: &[OsString],
    variables: impl IntoIterator<Item = (&'static str, OsString)>,
    windows: Option<Wanted>,
    samples: bool,
) -> Result<Run, Failure> {
    let (started, idle) = (Instant::now(), idle::idle_seconds());
    let child = child::start(program, command, variables).inspect_err(|_| folder.discard())?;
    let mut session = session::begin(command, child.pid());
    session::write(&session, folder);
    let keeper = windows.map(|wanted| session::keep_windows(folder, &session, wanted));
    let sampler = samples.then(|| sampling::start(folder, None)).flatten();
    let ending = child.wait();
    if let Some(keeper) = keeper {
        keeper.stop();
    }
    if let Some(sampler) = sampler {
        sampling::finish(sampler, folder);
    }
    let ending = ending?;

    session.seconds = Some(started.elapsed().as_secs_f64());
    session.idle = idle::since(idle);
    session.ending = Some(ending);
    let no_room = !session::write(&session, folder);
    Ok(Run { ending, no_room })
}

impl Run {
    /// Whether the program ended with status 0, and the session file says so.
    pub fn succeeded(&self) -> bool {
        matches!(self.ending, Ending::Status(0)) && !self.no_room
    }

    /// The program's exit status, if the recording is complete. `full` says whether the disk was
    /// full for a process.
    ///
    /// # Errors
    /// With [`RECORD_FAILED`] if the recording is incomplete. The message says how the program
    /// ended.
    pub fn exit_code(self, full: bool) -> Result<ExitCode, Failure> {
        if !full && !self.no_room {
            return Ok(exit_code(self.ending));
        }
        let ended = match self.ending {
            Ending::Status(status) => format!("ended with status {status}"),
            Ending::Signal(signal) => format!("was ended by signal {signal}"),
        };
        let message =
            format!("the recording is incomplete: the disk was full; the program {ended}");
        Err(Failure::message(RECORD_FAILED, message).hint(OTHER_DISK))
    }
}

/// The exit status that tells scripts how the program ended: the program's own, or 128 plus the
/// number of the signal that ended it.
fn exit_code(ending: Ending) -> ExitCode {
    match ending {
        Ending::Status(status) => ExitCode::from(status as u8),
        Ending::Signal(signal) => ExitCode::from(128 + signal as u8),
    }
}
