//! `syncline top`: what a running program waits for now.
//!
//! This command reads the recording of a running program again and again, and shows what happened
//! between two readings. On a terminal that is a screen that renews itself; for anything else it is
//! one plain table after the other.

pub mod args;
mod plain;
mod screen;
mod view;

use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use syncline_analysis::{Live, Options};
use syncline_recording::{Session, command_line};

use crate::failure::{Failure, REPORT_FAILED};
use crate::quoted::typed;
use crate::record::live::{self, Process};
use crate::writers::Writers;
use view::View;

/// The most bytes of the file of a process that is attached to.
const LARGEST: u64 = 1 << 30;

/// Shows the recording until its program ends or the user has seen enough.
pub fn run(args: &args::Top) -> Result<ExitCode, Failure> {
    match args.pid {
        Some(pid) => process(args, pid)?,
        None => show(args, &mut Watch::start(&args.recording)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a process that already runs: it is recorded into a folder that goes at the end. However
/// this ends, the command detaches from the process.
fn process(args: &args::Top, pid: u32) -> Result<(), Failure> {
    let failed = |e| Failure::new(REPORT_FAILED, e);
    let ends = live::ends()?;
    let place = tempfile::Builder::new().prefix("syncline-top-").tempdir().map_err(failed)?;
    let folder = place.path().join("recording");
    let process = Process::attach(pid, &folder, LARGEST, false)?;
    let mut watch = match Watch::start(&folder) {
        Ok(watch) => Watch { process: Some(process), ends, ..watch },
        Err(failure) => return process.detach().and(Err(failure)),
    };
    let shown = show(args, &mut watch);
    let detached = watch.process.take().map_or(Ok(()), |process| process.detach().map(drop));
    shown.and(detached)
}

fn show(args: &args::Top, watch: &mut Watch) -> Result<(), Failure> {
    if stdout().is_terminal() && !args.once {
        screen::show(watch, args.interval)
    } else {
        plain::print(watch, args.interval, args.once)
    }
}

/// A recording that is read again and again.
struct Watch {
    recording: PathBuf,
    command: String,
    live: Live,
    /// The process, if this command has attached to it.
    process: Option<Process>,
    /// Set when the user asks for the end.
    ends: Arc<AtomicBool>,
}

impl Watch {
    fn start(recording: &Path) -> Result<Watch, Failure> {
        let mut watch = Watch {
            recording: recording.to_owned(),
            command: String::new(),
            live: Live::new(recording, &Options::default()),
            process: None,
            ends: Arc::default(),
        };
        // From here on, what happened since is known.
        watch.look()?;
        if !watch.goes_on() {
            let shown = recording.display();
            let message = format!("the program of {shown} has ended");
            return Err(Failure::message(REPORT_FAILED, message)
                .hint(format!("`syncline report {}` shows what was recorded", typed(recording))));
        }
        Ok(watch)
    }

    /// What has happened since the last reading.
    fn look(&mut self) -> Result<View, Failure> {
        if let Some(process) = &mut self.process {
            process.follow();
        }
        let rates = self.live.look().map_err(|e| Failure::unreadable(&self.recording, e))?;
        // The program runs for a moment before its session is written.
        if self.command.is_empty()
            && let Ok(Some(session)) = Session::read(folder(&self.recording))
        {
            self.command = command_line(&session.command);
        }
        Ok(View::of(&rates))
    }

    /// Whether any process still writes to it.
    fn goes_on(&self) -> bool {
        let folder = folder(&self.recording);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        !Writers::of(&folder).processes().is_empty()
    }

    /// What to say when the program has ended.
    fn farewell(&self) -> String {
        if self.process.is_some() {
            return "the process has ended".to_owned();
        }
        format!("the program has ended; now run `syncline report {}`", typed(&self.recording))
    }

    /// Whether the user asked for the end, by a signal.
    fn is_over(&self) -> bool {
        self.ends.load(Relaxed)
    }
}

/// The folder of a recording that may be one file of it.
fn folder(recording: &Path) -> &Path {
    if recording.is_dir() { recording } else { recording.parent().unwrap_or(recording) }
}
