//! Waits until no thread runs code of the recorder any more, after all slots got their old values
//! back.
//!
//! A call of the recorder takes microseconds, unless the C library's function that it calls waits.
//! So a thread that was seen in a system call, or that has run for a while, is either outside of
//! the recorder or waits in such a function. But if the thread is in one of the recorder's own
//! system calls, for memory and files, it is in the middle of the recorder's work.

use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};
use std::ops::Range;
use std::time::{Duration, Instant};

/// A thread that has run for this many more nanoseconds has left the recorder.
const LONG: u64 = 5_000_000;
/// The system calls that the recorder makes for its own work and that do not wait for an event:
/// close, mmap, mprotect, munmap, rt_sigprocmask, madvise, ftruncate, getrusage, prctl, openat,
/// fallocate, process_vm_readv. (The recorder also makes other system calls: it reads files, and if
/// the program calls `syscall`, it makes the call that the program asks for.)
const OWN: &[u32] = &[3, 9, 10, 11, 14, 28, 77, 98, 157, 257, 285, 310];
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until no thread runs code of the recorder; false if one may still do so after
/// [`PATIENCE`]. `recorder` has the recorder's addresses.
pub fn wait(pid: u32, recorder: &Range<u64>) -> bool {
    let until = Instant::now() + PATIENCE;
    let mut waiting: HashMap<String, u64> =
        threads(pid).map(|t| (t.clone(), ran(pid, &t))).collect();
    loop {
        waiting.retain(|thread, before| {
            let Ok(call) = read_to_string(format!("/proc/{pid}/task/{thread}/syscall")) else {
                return false;
            };
            !is_in_call(&call, recorder) && ran(pid, thread) < *before + LONG
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

/// Whether a thread is in a system call, but not in one of the recorder's own. `line` is the text
/// that the kernel has about the thread: the call's number, its arguments, the stack pointer and
/// the instruction pointer. (The number is -1 for a thread that waits outside of system calls, such
/// as for a page.)
fn is_in_call(line: &str, recorder: &Range<u64>) -> bool {
    let number = line.split(' ').next().and_then(|number| number.parse().ok());
    let place = line.trim_end().rsplit_once(" 0x");
    let place = place.and_then(|(_, hex)| u64::from_str_radix(hex, 16).ok());
    let is_own = |number| OWN.contains(&number) && place.is_some_and(|at| recorder.contains(&at));
    number.is_some_and(|number: u32| !is_own(number))
}

fn threads(pid: u32) -> impl Iterator<Item = String> {
    let entries = read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// For how many nanoseconds a thread has run; a huge number if it has ended.
fn ran(pid: u32, thread: &str) -> u64 {
    let text = read_to_string(format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::is_in_call;

    #[test]
    fn system_calls_of_the_recorder_itself_do_not_count() {
        let line = "28 0x7f0 0x80 0x0 0x0 0x0 0x0 0x7ffd0 0x5005\n";
        assert!(is_in_call(line, &(0x6000..0x7000)));
        assert!(!is_in_call(line, &(0x5000..0x6000)));
        assert!(is_in_call("202 0x7f0 0x80 0x0 0x0 0x0 0x0 0x7ffd0 0x5005\n", &(0x5000..0x6000)));
        assert!(!is_in_call("running\n", &(0x6000..0x7000)));
        assert!(!is_in_call("-1 0x7ffd0 0x5005\n", &(0x6000..0x7000)));
    }
}
