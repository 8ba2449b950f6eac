//! Tests of `syncline export` and `syncline diff`: where they write, and what they refuse.

mod common;

use std::fs;
use std::process::{Command, Output};

use common::{Sandbox, errors, syncline};
use serde_json::Value;

/// A folder with the recording of a program that did nothing.
fn recorded() -> Sandbox {
    let sandbox = Sandbox::new();
    assert!(sandbox.record().args(["--", "true"]).status().unwrap().success());
    sandbox
}

fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let mut command = syncline();
    command.args(arguments).current_dir(sandbox.path("."));
    command
}

fn failed(output: &Output, words: &[&str]) {
    assert_eq!(output.status.code(), Some(1), "{}", errors(output));
    for word in words {
        assert!(errors(output).contains(word), "{}", errors(output));
    }
}

#[test]
fn every_format_goes_to_a_file_and_to_standard_output() {
    let sandbox = recorded();
    for format in ["pprof", "perfetto", "firefox", "folded", "json"] {
        let plain = command(&sandbox, &["export", "--format", format]).output().unwrap();
        assert!(plain.status.success(), "{format}: {}", errors(&plain));
        let dash = command(&sandbox, &["export", "-f", format, "-o", "-"]).output().unwrap();
        assert_eq!(dash.stdout, plain.stdout, "{format}");
        let to_file = ["export", "-f", format, "-o", "out", "syncline-recording"];
        let output = command(&sandbox, &to_file).output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{}", errors(&output));
        assert!(errors(&output).starts_with("syncline: wrote out\n"), "{}", errors(&output));
        assert_eq!(fs::read(sandbox.path("out")).unwrap(), plain.stdout, "{format}");
    }
    let json = command(&sandbox, &["export", "--format=json"]).output().unwrap();
    let mut document: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(document["schema"], "syncline-report/1");
    assert_eq!(errors(&json), "");
    let report = command(&sandbox, &["report", "--json"]).output().unwrap();
    document.as_object_mut().unwrap().remove("timelines").expect("the report has no timelines");
    assert_eq!(document, serde_json::from_slice::<Value>(&report.stdout).unwrap());
}

#[test]
fn an_empty_export_has_a_message() {
    let sandbox = recorded();
    let output = command(&sandbox, &["export", "-f", "folded"]).output().unwrap();
    assert_eq!(output.stdout, b"");
    assert_eq!(errors(&output), "syncline: the recording has nothing that this format shows\n");
}

#[test]
fn impossible_exports_have_error_messages() {
    let sandbox = recorded();
    let output = command(&sandbox, &["export"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a format must be chosen");
    let output = command(&sandbox, &["export", "-f", "json", "-o", "no/out"]).output().unwrap();
    failed(&output, &["can't write no/out: No such file"]);
    let output = command(&sandbox, &["export", "-f", "json", "none"]).output().unwrap();
    failed(&output, &["none: No such file", "`syncline record -- PROGRAM`"]);
}

#[test]
fn two_recordings_are_compared() {
    let sandbox = recorded();
    let both = ["diff", "syncline-recording", "syncline-recording"];
    let output = command(&sandbox, &both).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("FINDINGS  0 new, 0 changed, 0 gone, 0 the same"), "{text}");
    let output = command(&sandbox, &both).arg("--json").output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "syncline-diff/1");
    let output = command(&sandbox, &["diff", "syncline-recording", "none"]).output().unwrap();
    failed(&output, &["none: No such file"]);
}
