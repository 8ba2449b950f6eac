//! Whether a file's process still runs, and what time it is for it.
//!
//! A process that hangs adds nothing to its file: how long its threads have waited is seen only by the
//! time of whoever reads.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::layout::{Header, PROCESS_RUNNING, THREAD_RUNNING, ThreadRecord};
use crate::schedstat;

/// The present in the ticks of a file, if its process still maps it. A process number alone would not
/// tell: it may have been given away again. None as well for a process that this one may not look at,
/// or that has another number here, as one in a container does.
pub fn now(header: &Header, meta: &Metadata) -> Option<u64> {
    if header.state != PROCESS_RUNNING || header.ended != 0 || header.seen != 0 {
        return None;
    }
    let maps = fs::read(format!("/proc/{}/maps", header.pid)).ok()?;
    maps.split(|&byte| byte == b'\n').find(|line| is_of(line, meta.ino()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
    let nanoseconds = now.saturating_sub(header.started_realtime) as f64;
    let ticks = nanoseconds / 1e9 * header.ticks_per_second as f64;
    Some(header.started.saturating_add(ticks as u64))
}

/// Fills in what a thread of a running process has used of a processor by now, as the process does itself
/// for those that live when it ends.
pub fn look_at(pid: u32, record: &mut ThreadRecord) {
    if record.state != THREAD_RUNNING {
        return;
    }
    let text = fs::read(format!("/proc/{pid}/task/{}/schedstat", record.tid));
    if let Some(times) = text.ok().and_then(|text| schedstat::parse(&text)) {
        (record.left_cpu_ns, record.left_ready_ns) = (times.cpu_ns, times.ready_ns);
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
