//! Adds up the counts in a recording.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use syncline_recording::layout::{BLOCKERS, Blocker, NOBODY, PROCESS_EXITED, Row, SIGNAL};
use syncline_recording::{Op, ProcessFile, Thread, Windows, process_files};
use tempfile::TempDir;

use crate::paths::syncline;

/// One of the counts in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counter {
    /// Calls that succeeded.
    Calls,
    /// Try operations that were refused.
    Refused,
    /// Waits that ended because their time was up.
    Timeouts,
}

/// The files of a recording.
#[derive(Debug)]
pub struct Recording {
    /// The files, one for each process image.
    pub processes: Vec<ProcessFile>,
    folder: TempDir,
}

/// The sum of each counter for each process, operation and lock.
pub type Sums = BTreeMap<(u32, Op, Counter, u64), u64>;

impl Recording {
    /// Reads the recording in `folder/recording`.
    ///
    /// # Panics
    /// If there is no recording or a file can't be read.
    #[track_caller]
    pub fn open(folder: TempDir) -> Recording {
        let files = process_files(&folder.path().join("recording"));
        let files = files.unwrap_or_else(|e| panic!("{e}"));
        let read = |file: &PathBuf| ProcessFile::open(file).unwrap_or_else(|e| panic!("{e}"));
        Recording { processes: files.iter().map(read).collect(), folder }
    }

    /// The recording's folder. It is removed when this value is dropped.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("recording")
    }

    /// The text that `syncline report` with these options prints about the recording.
    ///
    /// # Panics
    /// If the report fails.
    #[track_caller]
    pub fn report(&self, options: &[&str]) -> String {
        let mut report = Command::new(syncline());
        let output = report.arg("report").args(options).arg(self.folder()).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The file of the only process in the recording.
    ///
    /// # Panics
    /// If there is not exactly one process.
    #[track_caller]
    pub fn only(&self) -> &ProcessFile {
        let names: Vec<_> = self.processes.iter().map(|p| p.arguments()).collect();
        assert!(names.len() == 1, "{} processes: {names:?}", names.len());
        &self.processes[0]
    }

    /// Checks that the recording is complete.
    ///
    /// # Panics
    /// If an operation was not counted, or if an event is missing.
    #[track_caller]
    pub fn assert_complete(&self) {
        for process in &self.processes {
            let header = &process.header;
            let lost = [
                header.dropped_operations,
                header.dropped_waits,
                header.interrupted_operations,
                u64::from(header.disk_full),
            ];
            let what = "dropped operations, dropped waits, interrupted operations, disk full";
            assert!(lost == [0; 4], "not all was counted ({what}): {lost:?}");
            process.threads.iter().for_each(|thread| assert_log_complete(process, thread));
        }
    }

    /// The thread with this number in the only process.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn thread(&self, tid: u64) -> &Thread {
        let thread = self.only().threads.iter().find(|t| u64::from(t.record.tid) == tid);
        thread.unwrap_or_else(|| panic!("no thread {tid}"))
    }

    /// The sum of a counter for one operation of a process. It is the sum over all threads if `tid`
    /// is 0, and over all locks if `lock` is `None`.
    pub fn count(&self, pid: u32, tid: u32, op: Op, counter: Counter, lock: Option<u64>) -> u64 {
        let rows = self.threads(pid).filter(|t| tid == 0 || t.record.tid == tid);
        let rows = rows.flat_map(|t| &t.rows).filter(|r| r.op == op);
        rows.filter(|r| lock.is_none_or(|l| r.counts.lock == l)).map(|r| value(r, counter)).sum()
    }

    /// All sums that are not 0.
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::new();
        for process in &self.processes {
            for row in process.threads.iter().flat_map(|t| &t.rows) {
                for counter in [Counter::Calls, Counter::Refused, Counter::Timeouts] {
                    let key = (process.header.pid, row.op, counter, row.counts.lock);
                    *sums.entry(key).or_default() += value(row, counter);
                }
            }
        }
        sums.retain(|_, count| *count > 0);
        sums
    }

    /// The number of successful calls of an operation, in all processes.
    pub fn calls(&self, op: Op) -> u64 {
        let sums = self.sums();
        let these =
            sums.iter().filter(|((_, o, counter, _), _)| (*o, *counter) == (op, Counter::Calls));
        these.map(|(_, count)| count).sum()
    }

    /// The rows of an operation on a lock.
    pub fn rows(&self, op: Op, lock: u64) -> Vec<&syncline_recording::Row> {
        let rows = self.processes.iter().flat_map(|p| &p.threads).flat_map(|t| &t.rows);
        rows.filter(|r| r.op == op && r.counts.lock == lock).collect()
    }

    /// The total time, in seconds, for which the timed acquisitions of a row held the lock, and the
    /// number of these acquisitions.
    pub fn held(&self, row: &syncline_recording::Row) -> (f64, u64) {
        let Row { held_ticks, held_samples, .. } = row.counts;
        let waited = row.waits.as_ref().map_or((0, 0), |w| (w.held_ticks, w.held_samples));
        let seconds = self.only().seconds(held_ticks + waited.0);
        (seconds, u64::from(held_samples) + waited.1)
    }

    /// The holders that a row's waits have waited for. Each has its thread, its stack, and the
    /// number of waits.
    pub fn blockers(row: &syncline_recording::Row) -> Vec<Blocker> {
        let all: [Blocker; BLOCKERS] = match &row.waits {
            Some(waits) => waits.blockers,
            None => return Vec::new(),
        };
        all.into_iter().filter(|b| b.waits > 0).collect()
    }

    fn threads(&self, pid: u32) -> impl Iterator<Item = &Thread> {
        self.processes.iter().filter(move |p| p.header.pid == pid).flat_map(|p| &p.threads)
    }
}

/// Checks that every counted wait was logged, that the file has all events that were kept, and that
/// each event has a time, a thread and a stack that exist.
#[track_caller]
fn assert_log_complete(process: &ProcessFile, thread: &Thread) {
    let record = &thread.record;
    let waits = |row: &syncline_recording::Row| row.waits.as_ref().map_or(0, |w| w.waits);
    let counted: u64 = thread.rows.iter().map(waits).sum();
    let holds = process.header.timeline != 0;
    // A killed thread may have counted a wait that it has not logged, or not logged completely.
    let unfinished = u64::from(process.header.state != PROCESS_EXITED);
    assert!(
        holds && record.logged + unfinished >= counted
            || record.logged.abs_diff(counted) <= unfinished,
        "{counted} waits, and {} events",
        record.logged
    );
    let kept = if thread.windows == Windows::ALL { record.logged } else { record.log_kept };
    let missing = kept - thread.log.len() as u64;
    assert!(missing <= unfinished, "of {kept} events {missing} are missing");
    for event in &thread.log {
        assert!(event.began <= event.ended && event.ended >= process.header.started);
        let who = usize::from(event.who);
        assert!(
            [NOBODY, SIGNAL].contains(&event.who) || who < process.header.threads.count as usize
        );
        assert!(!process.stack(event.stack).is_empty(), "an event has a stack");
    }
}

fn value(row: &syncline_recording::Row, counter: Counter) -> u64 {
    let waits = row.waits.as_deref();
    match counter {
        Counter::Calls => row.counts.calls,
        Counter::Refused => waits.map_or(0, |w| w.refused),
        Counter::Timeouts => waits.map_or(0, |w| w.timeouts),
    }
}
