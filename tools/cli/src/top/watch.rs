//! Reads a recording again and again while its program runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use syncline_analysis::{Live, Options};
use syncline_recording::{Session, Writers, command_line};

use super::view::View;
use crate::failure::{Failure, REPORT_FAILED};
use crate::quoted::typed;
use crate::record::live::Process;

/// A recording that is read again and again.
pub struct Watch {
    recording: PathBuf,
    pub command: String,
    live: Live,
    /// The process, if this command has attached to it.
    pub process: Option<Process>,
    /// Set when the user asks the command to end.
    pub ends: Arc<AtomicBool>,
}

impl Watch {
    pub fn start(recording: &Path) -> Result<Watch, Failure> {
        let mut watch = Watch {
            recording: recording.to_owned(),
            command: String::new(),
            live: Live::new(recording, &Options::default()),
            process: None,
            ends: Arc::default(),
        };
        // The first reading; later ones show what has happened since.
        watch.look()?;
        if !watch.goes_on() {
            let shown = recording.display();
            let message = format!("the program of {shown} has ended");
            return Err(Failure::message(REPORT_FAILED, message)
                .hint(format!("`syncline report {}` shows what was recorded", typed(recording))));
        }
        Ok(watch)
    }

    /// Reads the recording. Returns what has happened since the last reading.
    pub fn look(&mut self) -> Result<View, Failure> {
        if let Some(process) = &mut self.process {
            process.follow();
        }
        let rates = self.live.look().map_err(|e| Failure::unreadable(&self.recording, e))?;
        // The session file is written only shortly after the program has started.
        if self.command.is_empty()
            && let Ok(Some(session)) = Session::read(folder(&self.recording))
        {
            self.command = command_line(&session.command);
        }
        Ok(View::of(&rates))
    }

    /// Whether any process still writes to the recording.
    pub fn goes_on(&self) -> bool {
        let folder = folder(&self.recording);
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        !Writers::of(&folder).processes().is_empty()
    }

    /// The text to print when the program has ended.
    pub fn ending_text(&self) -> String {
        if self.process.is_some() {
            return "the process has ended".to_owned();
        }
        format!("the program has ended; now run `syncline report {}`", typed(&self.recording))
    }

    /// Whether the user has asked the command to end, by a signal.
    pub fn is_over(&self) -> bool {
        self.ends.load(Relaxed)
    }
}

/// The folder of a recording. The recording may be given as one of its files.
fn folder(recording: &Path) -> &Path {
    if recording.is_dir() { recording } else { recording.parent().unwrap_or(recording) }
}
