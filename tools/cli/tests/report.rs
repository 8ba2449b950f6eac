//! Tests of `syncline report`: where it writes, and what it says about recordings that it can't
//! read. The crate `syncline-report`, which makes the text of reports, tests that text.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use common::{Sandbox, errors, library, syncline};
use serde_json::Value;

/// A folder with a recording at the path where `report` looks by default. The stand-in for the
/// preload library has made it.
fn recorded() -> Sandbox {
    let sandbox = Sandbox::new();
    assert!(sandbox.record().args(["true", "argument"]).output().unwrap().status.success());
    sandbox
}

fn report(sandbox: &Sandbox) -> Command {
    let mut report = syncline();
    report.arg("report").current_dir(sandbox.path("."));
    report
}

fn process_file(sandbox: &Sandbox) -> PathBuf {
    let files = syncline_recording::process_files(&sandbox.path("syncline-recording"));
    files.unwrap().remove(0)
}

#[track_caller]
fn failed(output: &Output, words: &[&str]) {
    let errors = errors(output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    for word in words {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
    assert_eq!(output.stdout, b"");
}

#[test]
fn text_goes_to_standard_output_without_colours() {
    let sandbox = recorded();
    let output = report(&sandbox).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert!(!output.stdout.is_empty());
    assert!(!output.stdout.contains(&0x1b), "escapes in a pipe");
    assert_eq!(errors(&output), "");
}

#[test]
fn a_refused_run_is_not_reported_with_the_previous_recording() {
    let sandbox = recorded();
    let answered = || report(&sandbox).output().unwrap();
    assert!(answered().status.success());
    // This run is refused. The recording stays, and gets a note that the last run was refused.
    let program = sandbox.program("static", "int main(void) { return 0; }", &["-static"]);
    assert_eq!(sandbox.record().args(["./static", "a b"]).status().unwrap().code(), Some(126));
    assert!(program.exists());
    failed(&answered(), &["the last run, `./static 'a b'`, recorded nothing", "statically linked"]);
    // This run leaves no process file.
    let mut record = sandbox.record();
    let status = record.env("LEAVE_NO_FILE", "1").args(["true", ""]).status().unwrap();
    assert!(status.success());
    failed(&answered(), &["nothing was recorded: no process of `true ''`"]);
    // The first recording is now `DIR.old`, and can still be reported on.
    let output = report(&sandbox).arg("syncline-recording.old").output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    // The first recording stays `DIR.old` after the next run, because the recording that the next
    // run replaces is empty.
    assert!(sandbox.record().arg("true").status().unwrap().success());
    assert!(answered().status.success());
    let old = fs::read_to_string(sandbox.path("syncline-recording.old/session.json")).unwrap();
    assert!(old.contains("\"argument\""), "{old}");
}

/// A command that can't run even without Syncline, such as a mistyped one, does not count as a run
/// that recorded nothing.
#[test]
fn a_command_that_cannot_run_leaves_the_recording_valid() {
    let sandbox = recorded();
    let before = report(&sandbox).output().unwrap();
    assert!(before.status.success());
    sandbox.executable("lost", b"#!/absent/interpreter\n");
    fs::write(sandbox.path("plain"), "").unwrap();
    sandbox.executable("script", b"#!./plain\n");
    for (program, status, words) in [
        ("./nosuch", 127, "can't find ./nosuch: No such file"),
        ("no-such-program", 127, "no program named `no-such-program` in PATH"),
        ("./lost", 127, "can't find /absent/interpreter"),
        ("./plain", 126, "can't run ./plain: it is not executable"),
        ("./script", 126, "can't run ./plain: it is not executable"),
    ] {
        for command in ["record", "inspect"] {
            let mut attempt = syncline();
            attempt.current_dir(sandbox.path(".")).env("SYNCLINE_PRELOAD", library());
            attempt.args([command, "-o", "syncline-recording", "--", program]);
            let output = attempt.output().unwrap();
            assert_eq!(output.status.code(), Some(status), "{program}");
            assert!(errors(&output).contains(words), "{}", errors(&output));
            let after = report(&sandbox).output().unwrap();
            assert!(after.status.success(), "{program}: {}", errors(&after));
            assert_eq!(after.stdout, before.stdout, "{program}");
            assert!(!sandbox.path("syncline-recording.old").exists());
        }
    }
}

#[test]
fn json_is_one_document_and_takes_the_thresholds() {
    let sandbox = recorded();
    let mut json = report(&sandbox);
    let output = json.args(["--json", "--contention", "25%", "--rate", "10"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["thresholds"]["contention"], 0.25);
    assert_eq!(document["thresholds"]["acquisitions_per_second"], 10.0);
    assert_eq!(document["session"]["command"][1], "argument");
}

#[test]
fn a_page_goes_to_its_file() {
    let sandbox = recorded();
    let output = report(&sandbox).args(["--html", "page.html"]).output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"");
    assert_eq!(errors(&output), "syncline: wrote page.html\n");
    assert!(fs::metadata(sandbox.path("page.html")).unwrap().len() > 0);

    let output = report(&sandbox).args(["--html", "no/such/page.html"]).output().unwrap();
    failed(&output, &["can't write no/such/page.html: No such file"]);
}

#[test]
fn a_running_program_is_reported_too() {
    let sandbox = Sandbox::new();
    let mut recorder = common::start(sandbox.record().args(["sh", "-c", "echo ready; sleep 0.5"]));
    let output = report(&sandbox).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert!(recorder.wait().unwrap().success());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = recorded();
    let mut json = report(&sandbox);
    let mut child =
        json.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(errors(&output), "");
}

#[test]
fn there_is_no_recording() {
    let sandbox = Sandbox::new();
    let output = report(&sandbox).output().unwrap();
    failed(&output, &["syncline-recording: No such file", "`syncline record -- PROGRAM`"]);
    fs::create_dir(sandbox.path("empty")).unwrap();
    failed(&report(&sandbox).arg("empty").output().unwrap(), &["`syncline record -- PROGRAM`"]);
    fs::write(sandbox.path("program"), "text").unwrap();
    failed(&report(&sandbox).arg("program").output().unwrap(), &["a recording is a folder"]);
}

#[test]
fn files_that_cannot_be_read() {
    let sandbox = recorded();
    let file = process_file(&sandbox);
    let good = fs::read(&file).unwrap();
    let said_of = |content: &[u8]| {
        fs::write(&file, content).unwrap();
        report(&sandbox).output().unwrap()
    };
    failed(&said_of(b"something else entirely"), &["not a Syncline recording"]);
    failed(&said_of(&good[..1000]), &["damaged or cut short"]);
    failed(&said_of(&good[..4100]), &["damaged or cut short", "threads"]);
    let mut newer = good.clone();
    newer[8] = 99;
    failed(&said_of(&newer), &["recorded in format 99"]);
}
