//! Finds and stops the threads of the process other than the borrowed one.

use std::collections::HashSet;
use std::fs::read_dir;

use crate::borrow::Borrowed;
use crate::refusal::Error;
use crate::stopped::Stopped;
use crate::target::Target;
use crate::trace;

/// The numbers of all threads of a process except the borrowed one.
pub fn of(pid: u32, borrowed: &Borrowed<'_>) -> Vec<i32> {
    let entries = read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|&tid| tid != borrowed.tid()).collect()
}

/// Stops all threads except the borrowed one, including new ones that they create meanwhile.
pub fn stop<'a>(target: &'a Target, borrowed: &Borrowed<'_>) -> Result<Vec<Stopped<'a>>, Error> {
    let failed = |source| Error::System { what: "stop the process's threads", source };
    let (mut stopped, mut seen) = (Vec::new(), HashSet::new());
    loop {
        let threads = of(target.pid, borrowed).into_iter();
        let new: Vec<i32> = threads.filter(|&tid| seen.insert(tid)).collect();
        if new.is_empty() {
            return Ok(stopped);
        }
        // If a thread can't be traced, it has ended.
        for tid in new.into_iter().filter(|&tid| trace::seize(tid).is_ok()) {
            stopped.extend(Stopped::new(target, tid).map_err(failed)?);
        }
    }
}
