//! Tests of `record --runs`: a program is recorded several times, each time in its own folder.

mod common;

use std::fs;
use std::path::Path;

use common::{Sandbox, errors, start};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use syncline_recording::folder::runs;
use syncline_recording::{Ending, Session, process_files};

/// A shell script that counts its runs in a file, and ends with a different status in each run.
const STATUSES: &str = "echo run >>runs; set -- 0 5 7; shift $(($(wc -l <runs) - 1)); exit $1";

fn ending(folder: &Path) -> Option<Ending> {
    Session::read(folder).unwrap().expect("there is a session").ending
}

#[test]
fn each_run_has_a_folder_and_the_first_failure_is_the_status() {
    let sandbox = Sandbox::new();
    let output = sandbox.record().args(["--runs", "3", "sh", "-c", STATUSES]).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", errors(&output));
    let first = sandbox.path("syncline-recording");
    let further = runs(&first).unwrap();
    assert_eq!(further, [first.join("run-2"), first.join("run-3")]);
    let endings = [&first, &further[0], &further[1]].map(|folder| ending(folder));
    assert_eq!(endings, [0, 5, 7].map(|status| Some(Ending::Status(status))));
    // Each folder has the files of the processes of one run: a shell and `wc`.
    for folder in further.iter().chain([&first]) {
        assert_eq!(process_files(folder).unwrap().len(), 2, "{}", folder.display());
    }
    let said = errors(&output);
    assert!(said.contains("syncline: run 3 of 3\n"), "{said}");
    let hints = said.matches("syncline: now run `syncline report syncline-recording`\n").count();
    assert_eq!(hints, 1, "{said}");
}

#[test]
fn further_runs_become_old_and_go_with_the_first() {
    let sandbox = Sandbox::new();
    let record = |runs: &str| {
        let output = sandbox.record().args(["--runs", runs, "true"]).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
    };
    record("2");
    // In the second run, the stand-in has written this file into the recording's folder. The test
    // removes the file, since a folder with files of another kind is not replaced.
    fs::remove_file(sandbox.path("syncline-recording/environment")).unwrap();
    record("1");
    assert!(sandbox.path("syncline-recording.old/run-2").is_dir());
    assert!(!sandbox.path("syncline-recording/run-2").exists());
    record("1");
    assert!(!sandbox.path("syncline-recording.old/run-2").exists());
}

#[test]
fn a_signal_to_end_stops_further_runs() {
    let sandbox = Sandbox::new();
    let script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done";
    let mut child = start(sandbox.record().args(["--runs", "3", "sh", "-c", script]));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!sandbox.path("syncline-recording/run-2").exists());
}

#[test]
fn every_run_starts_with_the_same_signals() {
    let sandbox = Sandbox::new();
    let words = ["--runs", "3", "grep", "-E", "SigBlk|SigIgn|SigCgt", "/proc/self/status"];
    let output = sandbox.record().args(words).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (first, others) = said.split_at(said.len() / 3);
    assert!(first.contains("SigBlk"), "{said}");
    assert_eq!(others, first.repeat(2));
}

#[test]
fn invalid_numbers_of_runs_are_refused() {
    let sandbox = Sandbox::new();
    for number in ["0", "101", "few"] {
        let output = sandbox.record().args(["--runs", number, "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        assert!(fs::read_dir(sandbox.path(".")).unwrap().next().is_none());
    }
}
