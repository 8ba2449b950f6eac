//! What a process keeps in memory of recordings that have ended.

use std::fs;

use syncline_conformance::scratch;

use crate::Running;

/// The recorder stays, and nothing of a recording does: the memory of the next one is that of the one before.
#[test]
fn memory_does_not_grow_with_each_recording() {
    /// Some pages that the program touches by itself.
    const SOME: u64 = 200;
    let folder = scratch();
    let mut running = Running::start();
    let mut kilobytes = Vec::new();
    for time in 0..8 {
        let recording = folder.path().join(time.to_string());
        let command = running.attach(&recording);
        running.round();
        command.end();
        running.round();
        let status = fs::read_to_string(format!("/proc/{}/status", running.pid)).expect("it runs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let number = resident.split_whitespace().next().expect("a number");
        kilobytes.push(number.parse::<u64>().expect("a number"));
    }
    assert!(kilobytes[7] < kilobytes[1] + SOME, "kilobytes after each: {kilobytes:?}");
}
