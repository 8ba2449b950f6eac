//! How long threads were on a processor, and how often they got one.

use std::fs;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
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

/// The processor time of the calling thread.
pub fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The times of those threads of a process whose times can be read; empty if the process has ended.
pub fn of(pid: u32) -> Vec<(Thread, Times)> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    let times = |entry: fs::DirEntry| {
        let thread = (pid, entry.file_name().to_str()?.parse().ok()?);
        Some((thread, of_thread(thread)?))
    };
    entries.filter_map(|entry| times(entry.ok()?)).collect()
}

/// The times of a thread; `None` if it has ended, or its times can't be read.
pub fn of_thread((pid, tid): Thread) -> Option<Times> {
    let text = fs::read(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    Some(Times { cpu: schedstat::parse(&text)?.cpu_ns, slices: schedstat::slices(&text)? })
}
