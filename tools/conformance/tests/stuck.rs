//! Threads that can't go on are reported with the lines at which they wait, and the lines at which
//! the object that they wait for was acquired or signalled. The expected lines are known from the
//! program's source.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use syncline_conformance::{Case, Program, preload_library, scratch, syncline};

/// Records `stuck MODE`, which an alarm ends. Returns the problems that the report has about
/// threads that can't go on: for each its kind, the number of threads, and the explanation.
fn stuck(mode: &str) -> Vec<(String, usize, String)> {
    // The status as in a shell: 128 plus the number of SIGALRM.
    stuck_until("2", mode, 142)
}

/// Like [`stuck`], with an alarm after so many seconds, after which the program ends with `status`.
fn stuck_until(seconds: &str, mode: &str, status: i32) -> Vec<(String, usize, String)> {
    let folder = scratch();
    let case = Case::new(&Program::compile("stuck.c")).args([mode, seconds]).status(status);
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
fn two_threads_in_opposite_order_are_a_deadlock() {
    let found = stuck("deadlock");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "deadlock", 2), "{why}");
    for (waits, lock, holder) in [
        ("first_then_second  stuck.c:22", "mutex second", "second_then_first  stuck.c:27"),
        ("second_then_first  stuck.c:29", "mutex first", "first_then_second  stuck.c:20"),
    ] {
        let waits = why.find(waits).unwrap_or_else(|| panic!("{waits}: {why}"));
        let rest = &why[waits..];
        let line = rest.split(';').next().unwrap();
        assert!(line.contains(lock) && line.contains(holder), "{why}");
    }
}

#[test]
fn a_thread_that_locks_twice_is_a_deadlock() {
    let found = stuck("itself");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "deadlock", 1), "{why}");
    assert!(why.contains("which itself holds from twice  stuck.c:34"), "{why}");
}

/// In a process with a single thread, the C library locks without an atomic instruction.
#[test]
fn the_only_thread_that_locks_twice_is_a_deadlock() {
    let found = stuck("alone");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "deadlock", 1), "{why}");
    assert!(why.contains("which itself holds from main  stuck.c:"), "{why}");
}

#[test]
fn a_join_with_a_lock_held_that_the_other_thread_needs_is_a_deadlock() {
    let found = stuck("join");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "deadlock", 2), "{why}");
    assert!(why.contains("waits at join_with_lock  stuck.c:71 for the end of thread"), "{why}");
    assert!(why.contains("holds from join_with_lock  stuck.c:69"), "{why}");
}

/// A third thread sleeps in `write` all the time.
#[test]
fn a_condition_that_is_waited_for_with_a_lock_held_is_a_likely_deadlock() {
    let found = stuck("held");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "likely_deadlock", 2), "{why}");
    assert!(why.contains("waits at one_lock  stuck.c:62 for mutex first"), "{why}");
    assert!(why.contains("waits at wait_with_lock  stuck.c:81 for condvar ready"), "{why}");
    assert!(why.contains("sleeps in write at writes"), "{why}");
}

#[test]
fn a_lock_whose_holder_has_ended_is_abandoned() {
    let found = stuck("ended");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "abandoned_lock", 1), "{why}");
    assert!(why.contains("waits at one_lock  stuck.c:62 for mutex first"), "{why}");
    assert!(why.contains("acquired it at forgets  stuck.c:96, and has ended"), "{why}");
}

#[test]
fn a_lock_of_the_programs_own_stops_everything() {
    let found = stuck("own");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "standstill", 2), "{why}");
    assert!(why.contains("waits at own_lock_twice  stuck.c:57 (futex)"), "{why}");
    assert!(why.contains("waits at main  stuck.c:"), "{why}");
}

/// As a program that hangs may end when its user interrupts it.
#[test]
fn a_standstill_that_a_signal_has_ended() {
    let found = stuck_until("4", "interrupted", 0);
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "standstill", 2), "{why}");
    assert!(why.contains("waits at main  stuck.c:145 (semaphore)"), "{why}");
    assert!(why.contains("waits at waits_for_requests  stuck.c:"), "{why}");
    assert!(why.contains("A signal ended this"), "{why}");
    assert!(stuck_until("2", "interrupted", 0).is_empty(), "the user has hardly waited");
}

/// `timeout` ends the program. Only the process that started the program knows how long the program
/// waited.
#[test]
fn a_deadlock_is_reported_after_another_process_ended_the_program() {
    let folder = scratch();
    let folder = folder.path().join("recording");
    preload_library();
    let program = Program::compile("stuck.c");
    let mut record = Command::new(syncline());
    record.args(["record", "-o"]).arg(&folder).args(["--", "timeout", "1"]);
    record.arg(program.path()).args(["itself", "60"]).stderr(Stdio::null());
    assert_eq!(record.status().unwrap().code(), Some(124), "as timeout says it");
    let report = Command::new(syncline()).arg("report").arg(&folder).output().unwrap().stdout;
    let report = String::from_utf8(report).unwrap();
    assert!(report.contains("DEADLOCK"), "{report}");
    assert!(report.contains("ended by signal 15"), "{report}");
}

#[test]
fn a_signal_before_the_wait_is_a_lost_wake_up() {
    let found = stuck("lost");
    let (trap, threads, why) = &found[0];
    assert_eq!((found.len(), &trap[..], *threads), (1, "lost_wake_up", 1), "{why}");
    assert!(why.contains("wait_too_late  stuck.c:50"), "{why}");
    assert!(why.contains("announce  stuck.c:43"), "{why}");
}

#[test]
fn a_wait_for_a_running_thread_is_no_deadlock() {
    assert_eq!(stuck("waiting"), []);
}

/// A command that records a program that hangs. Both are ended when this value is dropped.
struct Hanging(Child);

impl Hanging {
    fn start(mode: &str, folder: &Path) -> Hanging {
        preload_library();
        let program = Program::compile("stuck.c");
        let mut record = Command::new(syncline());
        record.arg("record").arg("-o").arg(folder).arg("--").arg(program.path()).args([mode, "60"]);
        Hanging(record.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Repeats a command on the recording until its output has `words`, and returns that output.
    fn until(&self, command: &[&str], folder: &Path, words: &str) -> String {
        let begun = Instant::now();
        loop {
            let said = Command::new(syncline()).args(command).arg(folder).output().unwrap().stdout;
            let said = String::from_utf8(said).unwrap();
            if said.contains(words) {
                return said;
            }
            assert!(begun.elapsed() < Duration::from_secs(40), "no {words:?} in\n{said}");
            sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_hanging_program_is_reported_while_it_runs() {
    for (mode, trap, line) in [
        ("deadlock", "DEADLOCK", "second_then_first  stuck.c:29"),
        ("lost", "LOST WAKE-UP", "wait_too_late  stuck.c:50"),
    ] {
        let folder = scratch();
        let folder = folder.path().join("recording");
        let hanging = Hanging::start(mode, &folder);
        let top = hanging.until(&["top", "--once", "--interval", "0.1"], &folder, trap);
        assert!(top.contains(line), "{top}");
        let report = hanging.until(&["report"], &folder, trap);
        assert!(report.contains("still runs"), "{report}");
        let words: Vec<&str> = report.split_whitespace().collect();
        let line: Vec<&str> = line.split_whitespace().collect();
        assert!(words.windows(line.len()).any(|part| part == line), "{report}");
    }
}

#[test]
fn a_program_that_hangs_has_waited_until_now() {
    let folder = scratch();
    let folder = folder.path().join("recording");
    let hanging = Hanging::start("deadlock", &folder);
    hanging.until(&["report"], &folder, "DEADLOCK");
    let waited = || {
        let json = hanging.until(&["report", "--json"], &folder, "{");
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["processes"][0]["state"]["how"], "running");
        json["processes"][0]["waiting"]["locks"].as_f64().unwrap()
    };
    let (before, moment) = (waited(), Instant::now());
    sleep(Duration::from_millis(500));
    let passed = moment.elapsed().as_secs_f64();
    // Two threads wait, so their waits grow by up to twice the time that passes, and running the
    // report takes time too.
    let more = waited() - before;
    assert!((passed..2.0 * moment.elapsed().as_secs_f64() + 0.5).contains(&more), "{more} s");
}
