//! Windows of time (`record --every`): each has its own counts, together they have all counts, and
//! they outlive the command and the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use syncline_conformance::{preload_library, scratch, syncline};
use syncline_recording::folder::windows;
use syncline_recording::{Op, ProcessFile, Session, process_files};

use crate::refused::says_still_runs;
use crate::{ROUND, Running};

/// The acquisitions of a lock in a recording.
fn counted(recording: &Path, lock: u64) -> u64 {
    let files = process_files(recording).unwrap_or_default();
    let files = files.iter().map(|file| ProcessFile::open(file).expect("it is whole"));
    let rows = files.flat_map(|file| file.threads).flat_map(|thread| thread.rows);
    let of_lock = rows.filter(|row| row.op == Op::MutexLock && row.counts.lock == lock);
    of_lock.map(|row| row.counts.calls).sum()
}

fn paths(recording: &Path) -> Vec<PathBuf> {
    windows(recording).expect("a folder").into_iter().map(|(_, path)| path).collect()
}

/// Waits until the window with this number exists.
fn until_window(recording: &Path, number: u32) {
    let until = Instant::now() + Duration::from_secs(60);
    while !recording.join(format!("window-{number}")).exists() {
        assert!(Instant::now() < until, "window {number} did not come");
        sleep(Duration::from_millis(5));
    }
}

fn latest(recording: &Path) -> u32 {
    windows(recording).expect("a folder").last().map_or(0, |(number, _)| *number)
}

#[test]
fn each_window_has_its_own_counts() {
    let folder = scratch();
    let recording = folder.path().join("recording");
    let mut running = Running::start();
    let command = running.attach_with(&recording, &["--every", "0.3s", "--keep", "1000"]);
    for rounds in [1, 3, 0, 2] {
        (0..rounds).for_each(|_| running.round());
        let reached = latest(&recording);
        until_window(&recording, reached + 2);
    }
    command.end();
    let counts: Vec<u64> = paths(&recording).iter().map(|w| counted(w, running.lock)).collect();
    assert_eq!(counts.iter().sum::<u64>(), 6 * ROUND, "{counts:?}");
    assert!(counts.iter().filter(|&&n| n > 0).count() >= 3 && counts.contains(&0), "{counts:?}");
    assert_eq!(counted(&recording, running.lock), 6 * ROUND, "and the recording has all");
    assert!(says_still_runs(&recording.join("window-1")));

    // Each logged event is in no window but the one in which it happened.
    for path in paths(&recording) {
        for file in process_files(&path).unwrap_or_default() {
            let file = ProcessFile::open(&file).expect("it is whole");
            let inside = file.header.started..=file.header.ended;
            let events = file.threads.iter().flat_map(|thread| &thread.log);
            assert!(events.map(|event| event.ended).all(|ended| inside.contains(&ended)));
            let busy = |thread: &syncline_recording::Thread| {
                thread.record.left_cpu_ns <= 2 * (file.header.ended - file.header.started)
            };
            assert!(file.header.based == 0 || file.threads.iter().all(busy));
        }
    }
}

#[test]
fn old_windows_go_and_the_last_seconds_are_shown() {
    let folder = scratch();
    let recording = folder.path().join("recording");
    let mut running = Running::start();
    let command = running.attach_with(&recording, &["--every", "0.3s", "--keep", "3"]);
    running.round();
    until_window(&recording, 6);
    running.round();
    let shown = |arguments: &[&str]| {
        let mut report = Command::new(syncline());
        let output = report.arg("report").args(arguments).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let process = &report["processes"][0];
        let locks = process["locks"].as_array().expect("locks");
        let of = |lock: &&serde_json::Value| lock["address"] == format!("{:#x}", running.lock);
        let calls = locks
            .iter()
            .find(of)
            .map_or(0, |lock| lock["figures"]["calls"].as_u64().expect("a number"));
        (calls, process["seconds"].as_f64().expect("a number"))
    };
    let path = recording.to_str().expect("UTF-8");
    // The process still runs. The part that `--last` shows begins where a window ends, so the first
    // round is not in it.
    let (calls, seconds) = shown(&["--json", "--last", "0.5s", path]);
    assert_eq!(calls, ROUND);
    let whole = shown(&["--json", path]);
    assert!(whole.0 == 2 * ROUND && whole.1 > seconds && seconds >= 0.5, "{whole:?} {seconds}");
    command.end();
    let kept = paths(&recording);
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert!(!recording.join("window-next").exists());
    // `--last` asks for more than was kept, so all kept windows are shown. The last of them ended
    // with the recording.
    let length = |window: &PathBuf| {
        let session = Session::read(window).expect("it can be read").expect("a session");
        session.seconds.expect("it has ended")
    };
    let lengths: f64 = kept.iter().map(length).sum();
    let mut report = Command::new(syncline());
    let output =
        report.args(["report", "--json", "--last", "1h", path]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("all windows that were kept"), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let note = &report["notes"][0];
    assert_eq!(note["kind"], "only_the_end", "{note}");
    let shown = note["milliseconds"].as_f64().expect("a number") / 1e3;
    assert!((shown - lengths).abs() < 0.1, "{shown} s of {lengths} s");

    let mut diff = Command::new(syncline());
    let diff = diff.args(["diff", "--json"]).args(&kept[..2]).output().expect("it starts");
    assert!(diff.status.success(), "{}", String::from_utf8_lossy(&diff.stderr));

    // A recording with windows is replaced and removed like any other.
    for _ in 0..2 {
        running.attach_with(&recording, &["--every", "0.3s"]).end();
    }
    assert!(paths(&recording.with_extension("old")).len() <= 6);
}

#[test]
fn windows_outlive_the_command_and_the_program() {
    let folder = scratch();
    let recording = folder.path().join("killed");
    let mut running = Running::start();
    let mut command = running.attach_with(&recording, &["--every", "0.2s"]);
    running.round();
    let reached = latest(&recording);
    until_window(&recording, reached + 2);
    command.child.kill().and_then(|()| command.child.wait().map(drop)).expect("it is killed");
    let all = |recording: &Path| -> u64 {
        paths(recording).iter().map(|window| counted(window, running.lock)).sum()
    };
    assert_eq!(all(&recording), ROUND);

    let recording = folder.path().join("recording");
    let command = running.attach_with(&recording, &["--every", "60s"]);
    running.round();
    let lock = running.lock;
    drop(running);
    assert_eq!({ command }.child.wait().expect("it ends").code(), Some(0));
    let last: u64 = paths(&recording).iter().map(|window| counted(window, lock)).sum();
    assert_eq!(last, ROUND, "until the program's end");
}

#[test]
fn a_program_that_is_started_has_windows_too() {
    let folder = scratch();
    let recording = folder.path().join("recording");
    let mut running = Running::start_by(|program| {
        let mut command = Command::new(syncline());
        command.env("SYNCLINE_PRELOAD", preload_library()).stderr(Stdio::null());
        command.args(["record", "--every", "0.2s", "--keep", "1000", "-o"]).arg(&recording);
        command.arg("--").arg(program);
        command
    });
    for _ in 0..3 {
        running.round();
        let reached = latest(&recording);
        until_window(&recording, reached + 1);
    }
    drop(running.child.stdin.take());
    assert_eq!(running.child.wait().expect("it ends").code(), Some(0));
    let counts: Vec<u64> = paths(&recording).iter().map(|w| counted(w, running.lock)).collect();
    assert_eq!(counts.iter().sum::<u64>(), 3 * ROUND, "{counts:?}");
    assert!(counts.iter().filter(|&&n| n > 0).count() >= 2, "{counts:?}");
    let left = fs::read_dir(&recording).expect("a folder");
    assert!(left.count() >= counts.len());
}
