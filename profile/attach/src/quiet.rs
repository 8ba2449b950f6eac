//! When no thread runs code of the recorder any more, once no call leads there.
//!
//! A call of the recorder's takes microseconds, unless it waits in a system call. So once a thread
//! was seen in a system call, or has run for a while, it is outside, or waits inside.

use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};
use std::time::{Duration, Instant};

/// A thread that has run for this many nanoseconds has left.
const LONG: u64 = 5_000_000;
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until that holds for all threads; false if it does not within some seconds.
pub fn wait(pid: u32) -> bool {
    let until = Instant::now() + PATIENCE;
    let mut waiting: HashMap<String, u64> =
        threads(pid).map(|t| (t.clone(), ran(pid, &t))).collect();
    loop {
        waiting.retain(|thread, before| {
            let Ok(call) = read_to_string(format!("/proc/{pid}/task/{thread}/syscall")) else {
                return false;
            };
            call.starts_with("running") && ran(pid, thread) < *before + LONG
        });
        if waiting.is_empty() {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn threads(pid: u32) -> impl Iterator<Item = String> {
    let entries = read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// How long a thread has run, in nanoseconds; for ever, if it has ended.
fn ran(pid: u32, thread: &str) -> u64 {
    let text = read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX / 2)
}
