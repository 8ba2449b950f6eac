//! The memory that ended recordings leave behind in a process.

use std::fs;

use syncline_conformance::scratch;

use crate::Running;

/// The value of a field in a process's `/proc/PID/status`, in kilobytes.
fn kilobytes(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a size");
    line.trim_start_matches(':').split_whitespace().next().and_then(|n| n.parse().ok()).unwrap()
}

/// After detaching, the recorder stays in memory, but no recording does: the next recording reuses
/// the memory of the one before.
#[test]
fn memory_does_not_grow_with_each_recording() {
    /// Kilobytes allowed for pages that the program itself touches meanwhile.
    const SOME: u64 = 200;
    let folder = scratch();
    let mut running = Running::start();
    let mut after = Vec::new();
    for time in 0..8 {
        let recording = folder.path().join(time.to_string());
        let command = running.attach(&recording);
        running.round();
        command.end();
        running.round();
        after.push(kilobytes(running.pid, "VmRSS"));
    }
    assert!(after[7] < after[1] + SOME, "kilobytes after each: {after:?}");
}

/// After the first recording, the pages of the recorder's data and code that were used stay in
/// memory. The tables in which the recorder searched do not.
#[test]
fn little_memory_is_taken_by_the_first_recording() {
    let folder = scratch();
    let mut running = Running::start();
    running.round();
    let fields = ["RssAnon", "RssFile", "RssShmem"];
    let now = |running: &Running| fields.map(|field| kilobytes(running.pid, field));
    let before = now(&running);
    let command = running.attach(&folder.path().join("recording"));
    running.round();
    command.end();
    let after = now(&running);
    let grown = [0, 1, 2].map(|n| after[n].saturating_sub(before[n]));
    assert!(grown[0] <= 70 && grown[1] <= 400 && grown[2] <= 200, "{grown:?}, of {before:?}");
}
