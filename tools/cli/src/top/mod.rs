//! `syncline top`: what a running program waits for now.
//!
//! The recording of a running program is looked at again and again, and what is shown is
//! what happened between two looks. On a terminal that is a screen that renews itself; for
//! anything else it is one plain table after the other.

pub mod args;
mod plain;
mod screen;
mod view;

use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use syncline_analysis::{Live, Options};
use syncline_recording::{Session, command_line};

use crate::failure::{Failure, REPORT_FAILED};
use crate::quoted::typed;
use crate::writers::Writers;
use view::View;

/// Shows the recording until its program ends or the user has seen enough.
pub fn run(args: &args::Top) -> Result<ExitCode, Failure> {
    let mut watch = Watch::start(&args.recording)?;
    if stdout().is_terminal() && !args.once {
        screen::show(&mut watch, args.interval)?;
    } else {
        plain::print(&mut watch, args.interval, args.once)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A recording that is looked at again and again.
struct Watch {
    recording: PathBuf,
    command: String,
    live: Live,
}

impl Watch {
    fn start(recording: &Path) -> Result<Watch, Failure> {
        let mut watch = Watch {
            recording: recording.to_owned(),
            command: String::new(),
            live: Live::new(recording, &Options::default()),
        };
        // From here on it can be told what has happened since.
        watch.look()?;
        if !watch.goes_on() {
            let shown = recording.display();
            let message = format!("the program of {shown} has ended");
            return Err(Failure::message(REPORT_FAILED, message)
                .hint(format!("`syncline report {}` shows what was recorded", typed(recording))));
        }
        Ok(watch)
    }

    /// What has happened since the last look.
    fn look(&mut self) -> Result<View, Failure> {
        let rates = self.live.look().map_err(|e| Failure::unreadable(&self.recording, e))?;
        // The program runs for a moment before it is written down what it is.
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
        format!("the program has ended; now run `syncline report {}`", typed(&self.recording))
    }
}

/// The folder of a recording that may be one file of it.
fn folder(recording: &Path) -> &Path {
    if recording.is_dir() { recording } else { recording.parent().unwrap_or(recording) }
}
