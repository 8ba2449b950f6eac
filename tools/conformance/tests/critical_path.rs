//! Compares the critical path of a run with the program's own figures: the program measures what
//! the end of its run waits for.

use serde_json::Value;
use syncline_conformance::{Case, Program};

#[test]
fn the_critical_path_matches_the_program() {
    let both = Case::new(&Program::compile("critical_path.c")).both();
    let text = both.recording.report(&[]);
    let report: Value =
        serde_json::from_str(&both.recording.report(&["--json"])).expect("a report");
    let process = &report["processes"][0];
    let path = &process["critical_path"];
    let parts = path["parts"].as_array().expect("parts");
    let seconds = |kinds: &[&str], function: &str| {
        let is_one = |part: &&Value| {
            let thread = part["threads"][0].as_u64().expect("an index") as usize;
            let started_with = process["threads"][thread]["start_function"].as_str();
            kinds.contains(&part["kind"].as_str().expect("a kind"))
                && started_with == Some(function)
        };
        parts
            .iter()
            .filter(is_one)
            .map(|part| part["seconds"].as_f64().expect("seconds"))
            .sum::<f64>()
    };
    near(seconds(&["running", "ready"], "parse"), both.truth.value("parsed_us"));
    near(seconds(&["sleep"], "send"), both.truth.value("slept_us"));
    // At its end the first thread wakes the idle thread and joins it, which takes only a moment.
    let idle = seconds(&["running", "ready", "sleep", "unknown"], "idle");
    assert!(idle < 0.02, "{idle} s: {path}");
    let all: f64 = parts.iter().map(|part| part["seconds"].as_f64().expect("seconds")).sum();
    let run = process["seconds"].as_f64().expect("seconds");
    assert!((all - run).abs() < 0.01 * run, "{all} s of {run} s");
    assert!(text.contains("\nCRITICAL PATH "), "{text}");
    let aside = text.split("NOTHING TO DO").nth(1).expect("the idle thread's wait");
    assert!(aside.contains("condvar never_needed"), "{text}");
}

/// Checks that a time on the path is close to the time that the program has measured. The two can
/// differ: the program does not see how long its threads wait for a processor when they begin, and
/// the path does not show when a thread was in the kernel.
fn near(seconds: f64, truth_us: u64) {
    let truth = truth_us as f64 / 1e6;
    assert!((0.9 * truth..1.2 * truth + 0.05).contains(&seconds), "{seconds} s of {truth} s");
}
