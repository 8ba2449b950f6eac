//! Tests of loops that only wait, of sleeps, and of work in the kernel. None of them makes a call that
//! the recorder could count, so they are found by sampling. The program measures their times by its
//! own clocks.

use serde_json::Value;
use syncline_conformance::{Case, Program};

#[test]
fn loops_that_only_wait_and_sleeps_take_the_time_that_the_program_says() {
    let both = Case::new(&Program::compile("sampled.c")).both();
    let text = both.recording.report(&[]);
    let report: Value =
        serde_json::from_str(&both.recording.report(&["--json"])).expect("a report");
    let kinds: Vec<&Value> =
        report["notes"].as_array().expect("notes").iter().map(|note| &note["kind"]).collect();
    if kinds.contains(&&Value::from("no_samples")) {
        eprintln!("not tested: the kernel refuses samples");
        return;
    }
    let process = &report["processes"][0];
    let spins: Vec<&Value> = process["sites"]
        .as_array()
        .expect("sites")
        .iter()
        .filter(|site| site["op"] == "spin")
        .collect();
    let [spin] = spins[..] else { panic!("only one function waits in a loop: {spins:?}") };
    assert!(spin["place"].as_str().expect("a place").starts_with("spins at "), "{spin}");
    near("spun", spin["figures"]["spun"].as_f64(), both.truth.value("spun_us"));

    let read =
        process["asleep"].as_array().expect("calls").iter().find(|one| one["call"] == "read");
    let read = read.expect("a thread sleeps in read");
    near("slept", read["seconds"].as_f64(), both.truth.value("slept_us"));
    let stack = read["stack"].as_u64().expect("a stack") as usize;
    let frames = process["stacks"][stack]["frames"].as_array().expect("frames");
    let is_there = |frame: &Value| {
        let frame = &process["frames"][frame.as_u64().expect("an index") as usize];
        frame["function"].as_str().is_some_and(|function| function.starts_with("sleeps"))
    };
    assert!(frames.iter().any(is_there), "the caller of read is on the stack: {frames:?}");
    assert!(text.contains("asleep in read, at sleeps"), "{text}");

    let in_kernel = process["in_kernel"].as_array().expect("calls");
    let at = |call: &&Value| call["place"].as_str().expect("a place").starts_with("reads at ");
    match in_kernel.iter().find(at) {
        Some(read) => {
            assert_eq!(read["call"], "read");
            near("in the kernel", read["seconds"].as_f64(), both.truth.value("in_kernel_us"));
        }
        None => assert!(!samples_the_kernel(), "{in_kernel:?}"),
    }
}

/// The call site of the finding about two sides that answer each other; `None` if there is no finding. The other side is a thread or a process.
fn answers(how: &str, other: &str) -> Option<String> {
    let program = Program::compile("ping_pong.c");
    let (_, recording) = Case::new(&program).args([how, other]).recorded();
    let report: Value = serde_json::from_str(&recording.report(&["--json"])).expect("a report");
    let findings = report["processes"][0]["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["rule"] == "tiny-events")?;
    assert!(finding["advice"].as_str().expect("advice").contains("sleep in read"), "{finding}");
    Some(finding["place"].as_str().expect("a place").to_owned())
}

#[test]
fn threads_that_answer_each_other_through_the_kernel_are_found() {
    for how in ["pipe", "counter", "sockets"] {
        let place = answers(how, "thread").unwrap_or_else(|| panic!("no finding: {how}"));
        assert!(place.contains("pass at "), "{how}: {place}");
    }
    for how in ["pipe", "sockets"] {
        assert_eq!(answers(how, "process"), None, "another process answers: {how}");
    }
}

/// Whether the kernel certainly allows samples of threads that execute in it.
fn samples_the_kernel() -> bool {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    level.is_ok_and(|level| level.trim().parse::<i32>().is_ok_and(|level| level <= 1))
}

/// Checks that an estimate in seconds is near the program's own figure. The bounds are wide because
/// samples may come late on a busy machine.
fn near(what: &str, seconds: Option<f64>, truth_us: u64) {
    let (seconds, truth) = (seconds.expect("seconds"), truth_us as f64 / 1e6);
    assert!(
        (0.6 * truth..1.4 * truth + 0.1).contains(&seconds),
        "{what}: {seconds} s of {truth} s"
    );
}
