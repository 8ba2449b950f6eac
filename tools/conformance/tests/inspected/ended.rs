//! If `syncline inspect` gets SIGTERM while the program runs, it waits for the program's end, and
//! makes a report only if that is quick.

use std::fs::read_dir;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use syncline_conformance::{Program, inspect_library, scratch, syncline};

const LIMIT: Duration = Duration::from_secs(60);
const LARGE: u64 = 20 << 20;
const SMALL: u64 = 1 << 20;

/// Runs a program whose trace grows without end, and sends SIGTERM to the command when the trace
/// has at least `least` bytes.
fn ended_at(least: u64) -> Output {
    inspect_library();
    let folder = scratch();
    let trace = folder.path().join("trace");
    let program = Program::compile("inspect_large.c");
    let mut command = Command::new(syncline());
    command.args(["inspect", "--budget", "0", "-o"]).arg(&trace).arg("--").arg(program.path());
    let started = Instant::now();
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    while size(&trace) < least {
        assert!(started.elapsed() < LIMIT, "the trace has {} bytes", size(&trace));
        sleep(Duration::from_millis(2));
    }
    kill(Pid::from_raw(running.id() as i32), Signal::SIGTERM).expect("a signal");
    running.wait_with_output().expect("it ends")
}

/// Bytes that the folder's files take.
fn size(folder: &Path) -> u64 {
    let files = read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| 512 * file.blocks()).sum()
}

const SIGTERM: i32 = 128 + 15;

#[test]
fn a_large_trace_is_not_reported_at_once() {
    let output = ended_at(LARGE);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(SIGTERM), "{said}");
    assert!(
        said.contains("no report is made now, because SIGTERM asked this command to end"),
        "{said}"
    );
    assert!(said.contains("`syncline inspect --read "), "how to have it made: {said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_small_trace_is_reported_on() {
    let output = ended_at(SMALL);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(SIGTERM), "{said}");
    assert!(!said.contains("no report is made"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("acquisitions traced"));
}
