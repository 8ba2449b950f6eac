//! A recording can be read at any moment while its program runs. Its counts never decrease, except
//! that some calls are briefly missing while the recorder moves them to another row.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use syncline_conformance::{Case, Program, scratch};
use syncline_recording::{Class, Error, ProcessFile, process_files};

/// The most calls that can be missing from both rows at a time. At a call site with many locks, the
/// recorder counts calls for the call site. At each sample it moves the calls since the last sample
/// to the row of the sampled lock. A reader that comes in between sees these calls in neither row.
const MOVING: u64 = 128;

/// Reads the recording repeatedly until the program has ended. Returns the number of successful
/// readings.
fn watch(recording: &Path, ended: &AtomicBool) -> u32 {
    let (mut reads, mut before) = (0, 0);
    while !ended.load(Ordering::Relaxed) {
        let files = process_files(recording).unwrap_or_default();
        let Some(file) = files.first() else { continue };
        match ProcessFile::open(file) {
            Ok(process) => {
                let now = total(&process);
                assert!(now + MOVING >= before, "{before} calls were counted, then {now}");
                (reads, before) = (reads + 1, now);
            }
            // The recorder creates the file, then sets its size, and writes its magic number last.
            Err(Error::Foreign(_) | Error::NoRoom(_)) if reads == 0 => {}
            Err(e) => panic!("after {reads} reads: {e}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
    reads
}

fn total(process: &ProcessFile) -> u64 {
    let rows = process.threads.iter().flat_map(|t| &t.rows);
    rows.filter(|r| r.op.class() == Class::Acquire).map(|r| r.counts.calls).sum()
}

#[track_caller]
fn read_while_running(mode: &str) {
    let folder = scratch();
    let case = Case::new(&Program::compile("many.c")).arg(mode);
    let ended = AtomicBool::new(false);
    let reads = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&folder.path().join("recording"), &ended));
        case.recorded_to(folder.path());
        ended.store(true, Ordering::Relaxed);
        watcher.join().expect("no failed read")
    });
    assert!(reads >= 3, "only {reads} reads: the test saw nothing");
}

#[test]
fn recordings_are_readable_while_tables_grow() {
    read_while_running("distinct");
}

#[test]
fn recordings_are_readable_while_threads_come_and_go() {
    read_while_running("thousands-of-threads");
}
