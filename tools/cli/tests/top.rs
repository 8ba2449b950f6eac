//! Tests of `syncline top` without a terminal, where it prints plain tables.

mod common;

use common::{Sandbox, errors, start, syncline};

#[test]
fn a_running_recording_is_shown_until_it_ends() {
    let sandbox = Sandbox::new();
    let mut recorder = start(sandbox.record().args(["sh", "-c", "echo ready; sleep 1"]));
    let top = |arguments: &[&str]| {
        let mut top = syncline();
        top.arg("top").args(arguments).current_dir(sandbox.path("."));
        top.output().unwrap()
    };
    let once = top(&["--once", "--interval", "0.1"]);
    let text = String::from_utf8(once.stdout.clone()).unwrap();
    assert!(once.status.success(), "{}", errors(&once));
    assert_eq!(text.matches("CONTENDED").count(), 1, "{text}");
    assert!(text.starts_with("sh -c 'echo ready; sleep 1'\n"), "{text}");

    let all = top(&["--interval", "0.1"]);
    let text = String::from_utf8(all.stdout.clone()).unwrap();
    assert!(all.status.success(), "{}", errors(&all));
    assert!(text.matches("CONTENDED").count() > 2, "{text}");
    let last = "the program has ended; now run `syncline report syncline-recording`\n";
    assert!(text.ends_with(last), "{text}");
    assert!(recorder.wait().unwrap().success());

    let late = top(&[]);
    assert_eq!(late.status.code(), Some(1));
    assert!(errors(&late).contains("has ended\nhint: `syncline report"), "{}", errors(&late));
}

#[test]
fn folders_without_recording_are_refused() {
    let sandbox = Sandbox::new();
    let output = syncline().arg("top").arg(sandbox.path("missing")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("missing: No such file"), "{}", errors(&output));
    assert!(errors(&output).contains("hint: `syncline record"), "{}", errors(&output));
    let output = syncline().arg("top").arg(sandbox.path(".")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("syncline record -- PROGRAM"), "{}", errors(&output));
}
