//! `syncline cluster`: statuses and messages when ranks fail.

mod common;

use std::time::{Duration, Instant};

use common::{Sandbox, errors, syncline};

#[test]
fn statuses_are_the_programs() {
    let _sandbox = Sandbox::new();
    for status in [0, 1, 7] {
        let script = format!("exit {status}");
        let output =
            syncline().args(["cluster", "-n", "2", "-m", "1M", "--", "sh", "-c", &script]).output();
        assert_eq!(output.unwrap().status.code(), Some(status));
    }
    let output = syncline().args(["cluster", "-n", "2", "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127), "{}", errors(&output));
}

#[test]
fn who_fails_takes_the_others_along() {
    let script = "test $SYNCLINE_RANK = 1 && exit 9; exec sleep 60";
    let start = Instant::now();
    let output =
        syncline().args(["cluster", "-n", "3", "-m", "1M", "--", "sh", "-c", script]).output();
    assert_eq!(output.unwrap().status.code(), Some(9));
    assert!(start.elapsed() < Duration::from_secs(30), "the others went on");
}
