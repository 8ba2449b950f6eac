//! Divides a run into windows of time and keeps the last ones (`record --every`).
//!
//! At the end of each window, a thread of the command reads everything that has been counted. It
//! subtracts what had been counted by the end of the previous window, and writes the difference as
//! a recording of its own:
//!
//! ```text
//! DIR/41.syncline              everything that has been counted, written by the program
//! DIR/window-7/session.json
//! DIR/window-7/41.syncline     what was counted in the seventh window
//! DIR/window-7/sums/           everything that was counted until its end, for `report --last`
//! DIR/window-7/before/         the sums of window 6, if that was removed and 7 is the oldest
//! ```
//!
//! A window's folder appears in one step, complete. The recorded program need not do anything for
//! this except to begin its logs anew after each window. Hence a window has nearly all of its
//! events, whereas the log of a long run has only some of them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::folder::{self, BEFORE, Folder, NEXT_WINDOW, SUMS, WINDOW};
use crate::layout::Header;
use crate::process::ProcessFile;
use crate::recent::packed_name;
use crate::session::{Session, process_files};

/// Which windows to keep.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The length of a window.
    pub every: Duration,
    /// The most windows that are kept.
    pub keep: usize,
    /// The most bytes that all windows together may take, without the counts from before the
    /// oldest. The newest is kept even if it takes more.
    pub most: u64,
}

/// The thread that writes and removes windows, until it is stopped.
#[derive(Debug)]
pub struct Keeper {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Begins the first window. At the first error, `failed` is called with the number of the
    /// window that is lost. Later windows are still written if possible.
    pub fn start(
        recording: &Path,
        session: &Session,
        wanted: Wanted,
        failed: impl FnOnce(u32, io::Error) + Send + 'static,
    ) -> Keeper {
        let (stop, stopped) = channel();
        let mut windows = Windows {
            recording: recording.to_owned(),
            session: session.clone(),
            wanted,
            number: 0,
            began: SystemTime::now(),
            before: HashMap::new(),
        };
        let mut failed = Some(failed);
        let thread = spawn(move || {
            let mut until = Instant::now();
            loop {
                // The next window begins before this one is written, and not after, so that writing
                // does not shorten it.
                until = (until + wanted.every).max(Instant::now());
                let wait = until.saturating_duration_since(Instant::now());
                let stops = stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
                if let Err(error) = windows.end()
                    && let Some(failed) = failed.take()
                {
                    failed(windows.number, error);
                }
                if stops {
                    return;
                }
            }
        });
        Keeper { stop, thread }
    }

    /// Ends the last window, which may be shorter than the others, and waits until it is written.
    pub fn stop(self) {
        // Sending fails only if the thread has ended unexpectedly.
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

struct Windows {
    recording: PathBuf,
    session: Session,
    wanted: Wanted,
    number: u32,
    began: SystemTime,
    /// The counts of each process at the end of the previous window.
    before: HashMap<PathBuf, ProcessFile>,
}

impl Windows {
    /// Ends a window: writes it, and removes old windows that are beyond the limits.
    fn end(&mut self) -> io::Result<()> {
        self.number += 1;
        let written = self.write();
        let _ = fs::remove_dir_all(self.recording.join(NEXT_WINDOW));
        self.forget();
        written
    }

    fn write(&mut self) -> io::Result<()> {
        let next = self.recording.join(NEXT_WINDOW);
        let _ = fs::remove_dir_all(&next);
        let ended = SystemTime::now();
        let files = process_files(&self.recording).unwrap_or_default();
        let mut now: Vec<(PathBuf, ProcessFile)> = Vec::new();
        for path in files {
            // A file that can't be read is left out; it may be one that a process is still making.
            let Ok(mut file) = ProcessFile::open(&path) else { continue };
            file.seal();
            now.push((path, file));
        }
        take_logs(&now);
        let sums = next.join(SUMS);
        DirBuilder::new().recursive(true).mode(0o700).create(&sums)?;
        let open = |path: &Path| Folder::open(path).map_err(io::Error::other);
        let (window, sums) = (open(&next)?, open(&sums)?);
        for (path, file) in now {
            let name = packed_name(&path);
            let put = |folder: &Folder, file: &ProcessFile| {
                folder.put(&name, &file.packed()).map_err(io::Error::other)
            };
            put(&sums, &file)?;
            let before = self.before.get(&path);
            if before.is_none_or(|before| file.went_on_after(before)) {
                let whole = file.clone();
                put(&window, &before.map_or(whole, |before| file.clone().since(before)))?;
            }
            // Of the previous reading, only the counters are needed, so the logs are freed.
            let mut file = file;
            file.threads.iter_mut().for_each(|thread| thread.log = Vec::new());
            self.before.insert(path, file);
        }
        let began = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = ended.duration_since(self.began).unwrap_or_default().as_secs_f64();
        let session = Session {
            started: began.as_nanos() as u64,
            seconds: Some(seconds),
            ..self.session.clone()
        };
        session.write(&window).map_err(io::Error::other)?;
        self.began = ended;
        fs::rename(&next, self.recording.join(format!("{WINDOW}{}", self.number)))
    }

    /// Removes windows, the oldest first, until their number and their total size are within the
    /// limits. The newest stays. The window after a removed window gets the sums of the removed
    /// one. These are the counts until the remaining window begins.
    fn forget(&self) {
        let mut windows = folder::windows(&self.recording).unwrap_or_default();
        let mut sizes: u64 = windows.iter().map(|(_, path)| size(path)).sum();
        while windows.len() > self.wanted.keep || windows.len() > 1 && sizes > self.wanted.most {
            let (_, oldest) = windows.remove(0);
            sizes = sizes.saturating_sub(size(&oldest));
            if let Some((_, next)) = windows.first() {
                let _ = fs::rename(oldest.join(SUMS), next.join(BEFORE));
            }
            let _ = fs::remove_dir_all(&oldest);
        }
    }
}

/// Tells the processes that their logs have been read, so that they begin them anew. Events that
/// were logged between the reading and this note are lost. That is usually a time of a few
/// milliseconds.
fn take_logs(files: &[(PathBuf, ProcessFile)]) {
    for (path, file) in files.iter().filter(|(path, _)| !is_child(path)) {
        // Children in this file may have outlived its first process, so the latest time among all
        // its processes counts.
        let read_at = files.iter().filter(|(other, _)| packed_in(other, path));
        let read_at = read_at.map(|(_, file)| file.ended()).max().unwrap_or(0);
        let take = || -> io::Result<()> {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(());
            };
            let folder = Folder::open(parent).map_err(io::Error::other)?;
            let (opened, _) = folder.file(name, true).map_err(io::Error::other)?;
            let now = read_at.to_ne_bytes();
            // The time is written before the number, so that a thread which sees the new number
            // also finds the new time.
            opened.write_all_at(&now, offset_of!(Header, window_began) as u64)?;
            let number = file.header.window.wrapping_add(1).to_ne_bytes();
            opened.write_all_at(&number, offset_of!(Header, window) as u64)
        };
        // If this fails, the logs are not begun anew. When they are full, they are thinned, like
        // those of any long run.
        let _ = take();
    }
}

/// Whether the process of this name is in `file`.
fn packed_in(process: &Path, file: &Path) -> bool {
    let name = process.as_os_str().to_string_lossy();
    name.split('#').next().is_some_and(|first| Path::new(first) == file) || process == file
}

/// Whether this is the name of a forked child that writes to its parent's file.
fn is_child(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains('#'))
}

/// The space that a window takes on disk, without [`BEFORE`].
fn size(window: &Path) -> u64 {
    let of = |folder: &Path| -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.filter_map(|entry| Some(entry.metadata().ok()?.blocks() * 512)).sum()
    };
    of(window) + of(&window.join(SUMS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::write;

    /// Makes windows with these numbers and sizes in bytes, and returns the numbers of those that
    /// remain within the limits `keep` and `most`.
    fn forget(sizes: &[(u32, usize)], keep: usize, most: u64) -> Vec<u32> {
        let folder = tempfile::tempdir().unwrap();
        for (number, bytes) in sizes {
            let sums = folder.path().join(format!("{WINDOW}{number}/{SUMS}"));
            fs::create_dir_all(&sums).unwrap();
            write(sums.join("1.syncline"), vec![1; *bytes]).unwrap();
        }
        let session = Session {
            version: Session::VERSION,
            syncline: String::new(),
            command: vec!["true".to_owned()],
            pid: 1,
            started: 0,
            seconds: None,
            ending: None,
            processors: 1,
            idle: None,
            kernel: String::new(),
        };
        let windows = Windows {
            recording: folder.path().to_owned(),
            session,
            wanted: Wanted { every: Duration::from_secs(1), keep, most },
            number: 0,
            began: SystemTime::now(),
            before: HashMap::new(),
        };
        windows.forget();
        let left = folder::windows(folder.path()).unwrap();
        for (number, path) in &left {
            // The size shows whose sums these are, since each window has a different size. They
            // must be those of the latest window that was removed.
            let gone = sizes.iter().filter(|(other, _)| other < number).max();
            let is_oldest = *number == left[0].0;
            let expected = gone.filter(|_| is_oldest).map(|(_, bytes)| *bytes as u64);
            let before = fs::metadata(path.join(BEFORE).join("1.syncline"));
            assert_eq!(before.ok().map(|file| file.len()), expected, "before window {number}");
        }
        left.into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn the_oldest_windows_go_first() {
        let sizes = [(9, 101), (10, 102), (11, 103), (8, 100)];
        assert_eq!(forget(&sizes, 3, 1 << 30), [9, 10, 11]);
        assert_eq!(forget(&sizes, 9, 1 << 30), [8, 9, 10, 11]);
    }

    #[test]
    fn the_size_limit_drops_windows_but_never_the_newest() {
        let sizes = [(1, 1 << 20), (2, 1 << 20), (3, 1 << 20)];
        assert_eq!(forget(&sizes, 9, 5 << 19), [2, 3]);
        assert_eq!(forget(&sizes, 9, 10), [3]);
    }
}
