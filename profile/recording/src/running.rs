//! Whether a file's process still runs, and the current time on its clock.
//!
//! A process that hangs adds nothing to its file: how long its threads have waited is seen only by the
//! reader's clock.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::{Header, PROCESS_RUNNING, THREAD_RUNNING, ThreadRecord};
use crate::schedstat;

/// A process that still maps its file.
#[derive(Debug)]
pub struct Running {
    /// Its number here, by which `/proc` knows it.
    pid: u32,
    /// The numbers of its threads here by those that they have for themselves, if these differ: it is in
    /// another namespace.
    threads: Option<HashMap<u32, u32>>,
}

/// The process of a file, if it still maps that. A process number alone is not enough: it may have
/// been reused. `None` also for a process that this one may not inspect. In a container a process
/// has another number; if it was attached to, its file has the name of the one that it has here.
pub fn find(header: &Header, meta: &Metadata, path: &Path) -> Option<Running> {
    if header.state != PROCESS_RUNNING || header.ended != 0 || header.seen != 0 {
        return None;
    }
    let maps_it = |pid: u32| {
        let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.split(|&byte| byte == b'\n').any(|line| is_of(line, meta.ino()))
    };
    if maps_it(header.pid) {
        return Some(Running { pid: header.pid, threads: None });
    }
    let named = path.file_stem()?.to_str()?.parse().ok()?;
    (header.attached != 0 && maps_it(named))
        .then(|| Running { pid: named, threads: Some(own_numbers(named)) })
}

/// The threads of a process, by the numbers that they have in their own namespace.
fn own_numbers(pid: u32) -> HashMap<u32, u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let number = |entry: fs::DirEntry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let own = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        let own = own.split_whitespace().next_back()?.parse().ok()?;
        Some((own, entry.file_name().to_str()?.parse().ok()?))
    };
    entries.filter_map(|entry| number(entry.ok()?)).collect()
}

impl Running {
    /// The present in the ticks of the file.
    pub fn now(&self, header: &Header) -> Option<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
        let nanoseconds = now.saturating_sub(header.started_realtime) as f64;
        let ticks = nanoseconds / 1e9 * header.ticks_per_second as f64;
        Some(header.started.saturating_add(ticks as u64))
    }

    /// Fills in the threads' processor time until now, as the process itself does for those that
    /// live when it ends.
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

/// Whether a line of a process's maps is of a recording's file with this number.
fn is_of(line: &[u8], inode: u64) -> bool {
    const INODE: usize = 4;
    let mut words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let number = words.nth(INODE).and_then(|word| str::from_utf8(word).ok()?.parse().ok());
    number == Some(inode) && line.ends_with(b".syncline")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_maps_names_its_file() {
        let line = b"7f00-7f10 rw-s 00000000 fe:00 1234       /a/rec b/41.syncline";
        assert!(is_of(line, 1234));
        assert!(!is_of(line, 123));
        assert!(!is_of(b"7f00-7f10 rw-s 00000000 fe:00 1234   /a/rec/41.trace", 1234));
        assert!(!is_of(b"7f00-7f10 rw-s 00000000", 0) && !is_of(b"", 0));
    }
}
