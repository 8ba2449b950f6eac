//! Records every program of `workloads/` at its smallest size: each problem is found by the
//! right rule at the right line, and nothing is said about what has no problem.
//!
//! It stands alone in its file so that no other test runs beside it: contention takes two
//! processors. Times are not judged. But whether threads meet at a lock is itself a matter of
//! time, and a machine that has other things to do hides or makes a problem now and then: so a
//! few of the 62 verdicts may be wrong. `docs/accuracy.md` has what an idle machine gives.

mod built;

use std::process::Command;

use serde_json::Value;

use built::{EXECUTABLE, build_what_is_measured};

/// Problems that may be missed, and variants without one that may be blamed.
const WRONG_AT_MOST: u64 = 2;

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
    assert!(count("problems") - count("found") <= WRONG_AT_MOST, "{lines}");
    assert!(count("false_alarms") <= WRONG_AT_MOST, "{lines}");
}
