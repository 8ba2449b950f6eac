//! The other threads of the process, besides the borrowed one.

use std::collections::HashSet;
use std::fs::read_dir;

use crate::borrow::Borrowed;
use crate::refusal::Error;
use crate::trace::{self, Stop};

/// The numbers of all threads of a process except the borrowed one.
pub fn of(pid: u32, borrowed: &Borrowed<'_>) -> Vec<i32> {
    let entries = read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|&tid| tid != borrowed.tid()).collect()
}

/// The other threads, stopped until this is dropped.
pub struct Stopped {
    /// The threads, each with the signal that was about to be delivered to it, or 0.
    threads: Vec<(i32, i32)>,
}

impl Stopped {
    /// Stops all other threads, including new ones that these create meanwhile.
    pub fn all(pid: u32, borrowed: &Borrowed<'_>) -> Result<Stopped, Error> {
        let failed = |source| Error::System { what: "stop the process's threads", source };
        let (mut stopped, mut seen) = (Stopped { threads: Vec::new() }, HashSet::new());
        loop {
            let threads = of(pid, borrowed).into_iter();
            let new: Vec<i32> = threads.filter(|&tid| seen.insert(tid)).collect();
            if new.is_empty() {
                return Ok(stopped);
            }
            // A thread that can't be traced has ended.
            for tid in new.into_iter().filter(|&tid| trace::seize(tid).is_ok()) {
                stopped.threads.push((tid, 0));
                match trace::stop(tid).map_err(failed)? {
                    Stop::Signal(signal) => {
                        stopped.threads.last_mut().expect("it is there").1 = signal
                    }
                    Stop::Asked | Stop::SystemCall | Stop::Gone | Stop::Late => {}
                }
            }
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.threads.iter().for_each(|&(tid, signal)| trace::detach_with(tid, signal));
    }
}
