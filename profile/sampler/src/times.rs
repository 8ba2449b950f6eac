//! How long threads were on a processor, and how often they got one.

use std::fs;

use syncline_recording::schedstat;

use crate::asleep::Thread;

/// The kernel's counts of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Processor time, in nanoseconds.
    pub cpu: u64,
    /// How often it got a processor. If this has not changed, the thread has not run.
    pub slices: u64,
}

impl Times {
    /// The difference to an earlier look.
    pub fn since(self, before: Times) -> Times {
        Times {
            cpu: self.cpu.saturating_sub(before.cpu),
            slices: self.slices.saturating_sub(before.slices),
        }
    }
}

/// The times of those threads of a process whose times can be read; empty if the process has ended.
pub fn of(pid: u32) -> Vec<(Thread, Times)> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let times = |entry: fs::DirEntry| {
        let tid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read(entry.path().join("schedstat")).ok()?;
        let cpu = schedstat::parse(&text)?.cpu_ns;
        Some(((pid, tid), Times { cpu, slices: schedstat::slices(&text)? }))
    };
    entries.filter_map(|entry| times(entry.ok()?)).collect()
}
