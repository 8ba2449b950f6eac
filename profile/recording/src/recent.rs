//! The last part of a run that was recorded in windows of time: what was counted since the end of
//! one of them, or since the oldest of them began.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::folder::{BEFORE, SUMS, windows};
use crate::layout::PROCESS_LEFT;
use crate::process::{ProcessFile, Thread};
use crate::session::{Session, process_files};

/// The last part of a run: from a moment at which a window began or ended to the end of the
/// recording, or all of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recent {
    recording: PathBuf,
    /// The folder with the counts up to that moment; `None` if all of the recording is meant.
    base: Option<PathBuf>,
    span: Duration,
    reaches: bool,
}

impl Recent {
    /// The part since the latest window that ended at least `last` before the end of the recording.
    /// If no window is old enough, it is the part since the beginning of the oldest window that is
    /// kept.
    ///
    /// # Errors
    /// Those of [`process_files`], and [`Error::Io`] if the windows can't be listed.
    pub fn find(recording: &Path, last: Duration) -> Result<Recent, Error> {
        let files = process_files(recording)?;
        let files = files.iter().filter_map(|path| ProcessFile::open_counts(path).ok());
        let lives = files.map(|file| {
            let seconds = file.seconds(file.ended().saturating_sub(file.header.started));
            let began = file.header.started_realtime;
            (began, began.saturating_add((seconds * 1e9) as u64))
        });
        let (began, ended) = lives
            .reduce(|(began, ended), life| (began.min(life.0), ended.max(life.1)))
            .unwrap_or_default();
        let wanted = ended.saturating_sub(last.as_nanos() as u64);
        let io = |source| Error::Io { path: recording.to_owned(), source };
        let all = windows(recording).map_err(io)?;
        // A window loses its sums shortly before it is removed.
        let kept = all.iter().filter(|(_, path)| path.join(SUMS).is_dir());
        let kept: Vec<(&PathBuf, u64, u64)> = kept
            .filter_map(|(_, path)| times(path).map(|(began, ended)| (path, began, ended)))
            .collect();
        let enough = kept.iter().rev().find(|(.., ended)| *ended <= wanted);
        let oldest = kept.first().map(|(path, began, _)| (path.join(BEFORE), *began));
        let from = enough
            .map(|(path, _, ended)| (path.join(SUMS), *ended))
            // If the oldest window has no folder `before`, it is the first of the recording.
            .or(oldest.filter(|(before, _)| before.is_dir()));
        let since = from.as_ref().map_or(began, |(_, moment)| *moment);
        let span = Duration::from_nanos(ended.saturating_sub(since));
        let (recording, base) = (recording.to_owned(), from.map(|(sums, _)| sums));
        Ok(Recent { recording, base, span, reaches: since <= wanted })
    }

    /// How long this part is.
    pub fn span(&self) -> Duration {
        self.span
    }

    /// Whether this is all of the recording.
    pub fn is_all(&self) -> bool {
        self.base.is_none()
    }

    /// Whether this part reaches back as far as was asked for. Otherwise it has all windows that
    /// are kept, or all of the recording.
    pub fn reaches(&self) -> bool {
        self.reaches
    }

    /// What a process has done since that moment; `None` if it had ended by then, or was killed and
    /// has recorded nothing since. Its logs include those of the windows since then.
    pub fn of(&self, process: ProcessFile) -> Option<ProcessFile> {
        let base = self.base.as_ref().map(|sums| sums.join(packed_name(&process.path)));
        // A process that has no counts up to that moment began later.
        let Some(before) = base.and_then(|path| ProcessFile::open_counts(&path).ok()) else {
            return Some(process.with_logs(&self.recording, None));
        };
        let with_logs =
            |process: ProcessFile| process.with_logs(&self.recording, self.base.as_deref());
        process.went_on_after(&before).then(|| with_logs(process).since(&before))
    }
}

impl ProcessFile {
    /// Adds the logs of the windows that the recording keeps. A process's own file has only the
    /// events since the last window ended, because each log is begun anew then.
    ///
    /// The result has no gaps: it begins after the latest window whose logs are missing or not
    /// complete. [`Header::window_began`](crate::layout::Header::window_began) says when that is.
    pub fn with_logs_of_windows(self, recording: &Path) -> ProcessFile {
        self.with_logs(recording, None)
    }

    /// [`Self::with_logs_of_windows`], without the windows up to the one with the sums `base`. The
    /// logs of a window are in its sums.
    fn with_logs(mut self, recording: &Path, base: Option<&Path>) -> ProcessFile {
        let name = packed_name(&self.path);
        for (_, window) in windows(recording).unwrap_or_default().into_iter().rev() {
            let sums = window.join(SUMS);
            if base == Some(&sums) {
                break;
            }
            let Ok(earlier) = ProcessFile::open(&sums.join(&name)) else { break };
            if earlier.header.window == self.header.window {
                // The logs were not begun anew at the end of this window, so the later ones have
                // its events too.
                continue;
            }
            let follows = earlier.header.window.checked_add(1) == Some(self.header.window);
            let is_full = earlier.threads.iter().any(|thread| thread.record.log_is_full());
            if !follows || is_full || !self.is_same_process(&earlier) {
                break;
            }
            self.header.window = earlier.header.window;
            self.header.window_began = earlier.header.window_began;
            let mut earlier: HashMap<u32, Thread> =
                earlier.threads.into_iter().map(|thread| (thread.index, thread)).collect();
            for thread in &mut self.threads {
                if let Some(mut earlier) = earlier.remove(&thread.index) {
                    earlier.log.append(&mut thread.log);
                    thread.log = earlier.log;
                    thread.windows = thread.windows.common(earlier.windows);
                }
            }
        }
        self
    }

    /// Whether at the earlier reading `before` the process still ran, and it has gone on since.
    pub fn went_on_after(&self, before: &ProcessFile) -> bool {
        before.header.state == PROCESS_LEFT && self.ended() > before.ended()
    }
}

/// When a window began and ended, in nanoseconds since 1970.
fn times(window: &Path) -> Option<(u64, u64)> {
    let session = Session::read(window).ok()??;
    Some((session.started, session.started.saturating_add((session.seconds? * 1e9) as u64)))
}

/// The name of a process's file in a window's folder, where each process has a file of its own.
pub fn packed_name(process: &Path) -> String {
    let name = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.split_once(".syncline#") {
        Some((file, page)) => format!("{file}-{page}.syncline"),
        None => name,
    }
}
