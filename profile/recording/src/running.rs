//! Finds out whether the process of a file still runs, and the current time on its clock.
//!
//! A process that hangs adds nothing to its file. Only the reader's clock shows how long its
//! threads have waited.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::{Header, PROCESS_RUNNING, THREAD_RUNNING, ThreadRecord};
use crate::{numbers, schedstat};

/// A process that runs and still maps its file.
#[derive(Debug)]
pub struct Running {
    /// Its number in this process's namespace, under which it is in `/proc`.
    pid: u32,
    /// The thread numbers in this namespace, by the numbers in the process's own namespace; `None`
    /// if both are the same.
    threads: Option<HashMap<u32, u32>>,
}

/// Whether a header says that its process still runs.
pub fn is_marked_running(header: &Header) -> bool {
    header.state == PROCESS_RUNNING && header.ended == 0 && header.seen == 0
}

/// The process of a file, if its header says that it runs and it still maps the file. (The process
/// number alone is not enough, since it may have been reused.) Also `None` if this process may not
/// inspect the other one. A process in a container has another number here. It is searched for
/// under that number only if the recorder was attached to it.
pub fn find(header: &Header, meta: &Metadata) -> Option<Running> {
    if !is_marked_running(header) {
        return None;
    }
    if numbers::maps(header.pid, meta.ino()).unwrap_or(false) {
        return Some(Running { pid: header.pid, threads: None });
    }
    let pid = (header.attached != 0).then(|| numbers::elsewhere(header.pid, meta.ino()))??;
    Some(Running { pid, threads: Some(own_numbers(pid)) })
}

/// The numbers that the threads of a process have in this namespace, by the numbers that they have
/// for themselves.
fn own_numbers(pid: u32) -> HashMap<u32, u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let number = |entry: fs::DirEntry| {
        Some((numbers::own(&entry.path())?.0, entry.file_name().to_str()?.parse().ok()?))
    };
    entries.filter_map(|entry| number(entry.ok()?)).collect()
}

impl Running {
    /// The current time, in ticks of the file's clock.
    pub fn now(&self, header: &Header) -> Option<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
        let nanoseconds = now.saturating_sub(header.started_realtime) as f64;
        let ticks = nanoseconds / 1e9 * header.ticks_per_second as f64;
        Some(header.started.saturating_add(ticks as u64))
    }

    /// If a thread lives, fills in the processor time that it has used up to now. (For a process
    /// that has ended, the process itself has done this.)
    pub fn look_at(&self, record: &mut ThreadRecord) {
        if record.state != THREAD_RUNNING {
            return;
        }
        let tid = match &self.threads {
            Some(numbers) => numbers.get(&record.tid).copied().unwrap_or(0),
            None => record.tid,
        };
        let text = fs::read(format!("/proc/{}/task/{tid}/schedstat", self.pid));
        if let Some(times) = text.ok().and_then(|text| schedstat::parse(&text)) {
            (record.left_cpu_ns, record.left_ready_ns) = (times.cpu_ns, times.ready_ns);
        }
    }
}
