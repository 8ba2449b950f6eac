//! Records every program of `workloads/` at its smallest size: each problem is found by the
//! right rule at the right line, and nothing is said about what has no problem.
//!
//! It stands alone in its file so that no other test runs beside it: contention takes two
//! processors. Times are not judged.

mod built;

use std::process::Command;

use serde_json::Value;

use built::{EXECUTABLE, build_what_is_measured};

#[test]
fn every_problem_is_found_and_nothing_else() {
    build_what_is_measured();
    let output = Command::new(EXECUTABLE).args(["accuracy", "--quick"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let last = lines.lines().last().expect("it prints something");
    let summary: Value = serde_json::from_str(last).expect(last);
    let count = |field: &str| summary[field].as_u64().expect(last);
    assert!(count("problems") >= 20, "{last}");
    assert_eq!(count("found"), count("problems"), "{lines}");
    assert_eq!(count("false_alarms"), 0, "{lines}");
}
