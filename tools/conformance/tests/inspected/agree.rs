//! The report on a program's locks depends neither on the budget nor on the run.

use serde_json::Value;
use syncline_conformance::{Program, scratch};

use crate::{inspect, number};

/// The share of independent pairs of the lock `hot`, measured within a budget: its lower and upper
/// bound, and the number of traced sections.
fn independent(program: &str, budget: &str) -> (f64, f64, u64) {
    let folder = scratch();
    let run = inspect(folder.path(), &["--budget", budget, "--trace-only", "--", program, "mixed"]);
    run.assert_status(0);
    let run = inspect(folder.path(), &["--json", "--read", "syncline-trace"]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let locks = report["processes"][0]["locks"].as_array().expect("locks");
    let is_hot = |lock: &&Value| lock["name"].as_str().is_some_and(|name| name.starts_with("hot"));
    let lock = locks.iter().find(is_hot).expect("the lock that is waited for");
    let (share, off) = (&lock["window"]["conflicting"], &lock["window"]["uncertainty"]);
    let (share, off) = (1.0 - number(share), number(off));
    (share - off, share + off, lock["traced"].as_u64().expect("a number"))
}

/// One of the two call sites has one section in 16, but the tracer examines it far more often than
/// the other. Its share of the traced sections must not grow for that reason, nor may the figures
/// on pairs change.
#[test]
fn intervals_of_two_budgets_touch_and_have_the_truth_in_them() {
    let program = Program::compile("inspect_watched.c").path().to_str().expect("a path").to_owned();
    let truth = 1.0 - (15.0_f64 / 16.0).powi(2);
    let [few, many] = ["10", "30"].map(|budget| independent(&program, budget));
    // An interval contains the true value in 19 of 20 cases. With this margin on both sides, it
    // practically always does.
    const CHANCE: f64 = 0.02;
    let touch = few.0 - CHANCE <= many.1 && many.0 <= few.1 + CHANCE;
    assert!(touch, "{few:?} and {many:?}");
    for (low, high, traced) in [few, many] {
        assert!(traced >= 200, "{traced} sections say nothing");
        let has_truth = low - CHANCE <= truth && truth <= high + CHANCE;
        assert!(has_truth, "{low} to {high}, of {traced} sections; it is {truth}");
    }
}
