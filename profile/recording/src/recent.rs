//! The last part of a run that was recorded in windows of time: what was counted after the end of
//! one of the windows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::folder::{SUMS, windows};
use crate::layout::PROCESS_LEFT;
use crate::process::ProcessFile;
use crate::session::{Session, process_files};

/// A moment of the run: the folder with the counts up to then, or `None` for the start of
/// recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recent(Option<PathBuf>);

impl Recent {
    /// The end of the latest window that ended at least `last` before the end of the recording. If
    /// there is no such window, the earliest moment of which the counts are known.
    ///
    /// # Errors
    /// Those of [`process_files`], and [`Error::Io`] if the windows can't be listed.
    pub fn find(recording: &Path, last: Duration) -> Result<Recent, Error> {
        let files = process_files(recording)?;
        let files = files.iter().filter_map(|path| ProcessFile::open_counts(path).ok());
        let ended = files.map(|file| {
            let seconds = file.seconds(file.ended().saturating_sub(file.header.started));
            file.header.started_realtime.saturating_add((seconds * 1e9) as u64)
        });
        let wanted = ended.max().unwrap_or(0).saturating_sub(last.as_nanos() as u64);
        let io = |source| Error::Io { path: recording.to_owned(), source };
        let all = windows(recording).map_err(io)?;
        let ends = all.iter().map(|(number, path)| Some((*number, path, end(path)?)));
        let ends: Vec<_> = ends.flatten().collect();
        let enough = ends.iter().rev().find(|(_, _, end)| *end <= wanted);
        let whole = ends.first().is_none_or(|(number, ..)| *number == 1);
        let base = enough.or(ends.first().filter(|_| !whole));
        Ok(Recent(base.map(|(_, path, _)| path.join(SUMS))))
    }

    /// What a process has done since that moment; `None` if it had ended by then, or was killed and
    /// has recorded nothing since.
    pub fn of(&self, process: ProcessFile) -> Option<ProcessFile> {
        let base = self.0.as_ref().map(|sums| sums.join(packed_name(&process.path)));
        // If there are no counts of the process up to that moment, it began later.
        let Some(before) = base.and_then(|path| ProcessFile::open_counts(&path).ok()) else {
            return Some(process);
        };
        process.went_on_after(&before).then(|| process.since(&before))
    }
}

impl ProcessFile {
    /// Whether at the earlier reading `before` the process still ran, and it has gone on since.
    pub fn went_on_after(&self, before: &ProcessFile) -> bool {
        before.header.state == PROCESS_LEFT && self.ended() > before.ended()
    }
}

/// When a window ended, in nanoseconds since 1970.
fn end(window: &Path) -> Option<u64> {
    let session = Session::read(window).ok()??;
    Some(session.started.saturating_add((session.seconds? * 1e9) as u64))
}

/// The name of a process's file in a window's folder, where each process has a file of its own.
pub fn packed_name(process: &Path) -> String {
    let name = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.split_once(".syncline#") {
        Some((file, page)) => format!("{file}-{page}.syncline"),
        None => name,
    }
}
