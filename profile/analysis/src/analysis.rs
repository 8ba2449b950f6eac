//! A recording, read and added up.

use std::path::Path;
use std::rc::Rc;

use serde::Serialize;
use syncline_recording::{Error, ProcessFile, Recent, Samples, Session, process_files};

use crate::build;
use crate::model::{Note, Process};
use crate::options::{Options, Progress, Thresholds};
use syncline_code::file::library::Library;
use syncline_code::symbols::Symbols;

/// A recording, read and added up.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// What was run; `None` if the recording's folder does not say, or can't be read.
    pub session: Option<Session>,
    /// The thresholds above which a figure counts as high.
    pub thresholds: Thresholds,
    /// The processes; those whose threads lost most time waiting for locks come first.
    pub processes: Vec<Process>,
    /// What could not be recorded, beyond the notes of each process.
    #[serde(serialize_with = "crate::model::with_messages")]
    pub notes: Vec<Note>,
}

impl Analysis {
    /// Analyses a recording, given its folder or the file of one process. The program may still be
    /// running.
    ///
    /// Names are looked up in the program's files as they are on disk now. A file of the
    /// folder that can't be read is left out, with a [`Note::Unreadable`].
    ///
    /// # Errors
    /// If there is no recording, or none of its files can be read.
    pub fn load(recording: &Path, options: &Options) -> Result<Analysis, Error> {
        Analysis::load_with_progress(recording, options, &mut |_| {})
    }

    /// Like [`Analysis::load`], but reports its progress to `progress`.
    ///
    /// # Errors
    /// Same errors as [`Analysis::load`].
    pub fn load_with_progress(
        recording: &Path,
        options: &Options,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Analysis, Error> {
        Analysis::load_with_library(
            recording,
            options,
            &Library::new(&options.debug_dirs),
            progress,
        )
    }

    /// Like [`Analysis::load_with_progress`], but takes names from a library of files, some of
    /// which may have been read already.
    ///
    /// # Errors
    /// Same errors as [`Analysis::load`].
    pub fn load_with_library(
        recording: &Path,
        options: &Options,
        library: &Rc<Library>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Analysis, Error> {
        let files = process_files(recording)?;
        let recent = options.last.map(|last| Recent::find(recording, last)).transpose()?;
        let mut notes = Vec::new();
        notes.extend(recent.as_ref().map(|recent| Note::OnlyTheEnd {
            milliseconds: recent.span().as_millis() as u64,
            all: recent.is_all(),
            reaches: recent.reaches(),
        }));
        let session = of_folder(recording, &mut notes, Session::read);
        let samples = of_folder(recording, &mut notes, Samples::read);
        if let Some(why) = samples.as_ref().and_then(|samples| samples.refused.clone()) {
            notes.push(Note::NoSamples { why });
        }
        let mut processes = Vec::new();
        let mut first_error = None;
        for (done, path) in files.iter().enumerate() {
            let file = match ProcessFile::open(path) {
                Ok(file) => file,
                Err(error) => {
                    notes.push(Note::Unreadable { error: error.to_string() });
                    first_error.get_or_insert(error);
                    continue;
                }
            };
            let file = match &recent {
                Some(recent) => recent.of(file),
                None => Some(file.with_logs_of_windows(recording)),
            };
            let Some(file) = file else { continue };
            let symbols = Symbols::new(&file.modules, library);
            let report = &mut |stacks_done, stacks| {
                let processes = files.len();
                progress(Progress { processes_done: done, processes, stacks_done, stacks });
            };
            let builder =
                build::Context { session: session.as_ref(), samples: samples.as_ref(), options };
            processes.push(builder.process(&file, symbols, report));
        }
        match first_error {
            Some(error) if processes.is_empty() => return Err(error),
            _ => {}
        }
        processes.sort_by(|a, b| {
            let lost = |p: &Process| {
                let unread = p.unread.as_ref().map_or(0.0, |unread| unread.seconds);
                (p.waiting.locks, p.waiting.futexes + p.waiting.events, unread, p.thread_seconds)
            };
            lost(b).partial_cmp(&lost(a)).expect("times are numbers").then(a.pid.cmp(&b.pid))
        });
        Ok(Analysis { session, thresholds: options.thresholds, processes, notes })
    }
}

/// Reads a file that a recording's folder has at most once. `None` if the folder lacks it, or if it
/// can't be read; the latter adds a note.
fn of_folder<T>(
    recording: &Path,
    notes: &mut Vec<Note>,
    read: fn(&Path) -> Result<Option<T>, Error>,
) -> Option<T> {
    let folder = if recording.is_dir() { recording } else { recording.parent()? };
    read(folder).unwrap_or_else(|error| {
        notes.push(Note::Unreadable { error: error.to_string() });
        None
    })
}
