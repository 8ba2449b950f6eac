//! Threads that can't go on are reported with the lines where they wait and where what they wait for
//! is held, or was signalled. What they do is known from the program's text.

use std::process::Command;

use serde_json::Value;
use syncline_conformance::{Case, Program, scratch, syncline};

/// What the report of a program that an alarm ended says of threads that can't go on.
fn stuck(mode: &str) -> Vec<(String, usize, String)> {
    let folder = scratch();
    // As a shell would have it: 128 and the number of SIGALRM.
    let case = Case::new(&Program::compile("stuck.c")).arg(mode).status(142);
    case.recorded_to(folder.path());
    let mut report = Command::new(syncline());
    report.args(["report", "--json"]).arg(folder.path().join("recording"));
    let report = report.output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let all = report["processes"][0]["stuck"].as_array().unwrap();
    let one = |stuck: &Value| {
        let why = stuck["why"].as_str().unwrap().to_owned();
        (
            stuck["trap"].as_str().unwrap().to_owned(),
            stuck["threads"].as_array().unwrap().len(),
            why,
        )
    };
    all.iter().map(one).collect()
}

#[test]
fn two_threads_that_hold_what_the_other_wants() {
    let found = stuck("deadlock");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "deadlock", 2), "{why}");
    for (waits, lock, holder) in [
        ("first_then_second  stuck.c:17", "mutex second", "second_then_first  stuck.c:22"),
        ("second_then_first  stuck.c:24", "mutex first", "first_then_second  stuck.c:15"),
    ] {
        let waits = why.find(waits).unwrap_or_else(|| panic!("{waits}: {why}"));
        let rest = &why[waits..];
        let line = rest.split(';').next().unwrap();
        assert!(line.contains(lock) && line.contains(holder), "{why}");
    }
}

#[test]
fn a_thread_that_locks_what_it_holds() {
    let found = stuck("itself");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "deadlock", 1), "{why}");
    assert!(why.contains("which itself holds from twice  stuck.c:29"), "{why}");
}

#[test]
fn a_signal_that_came_before_the_wait() {
    let found = stuck("lost");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "lost_wake_up", 1), "{why}");
    assert!(why.contains("wait_too_late  stuck.c:45"), "{why}");
    assert!(why.contains("announce  stuck.c:38"), "{why}");
}

#[test]
fn a_wait_for_one_who_may_still_come_is_none() {
    assert_eq!(stuck("waiting"), []);
}
