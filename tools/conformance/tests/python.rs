//! Reports name the functions of Python programs, although all of these functions wait through the
//! same functions of the interpreter.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde_json::Value;
use syncline_conformance::{scratch, syncline};

/// The interpreter that Debian installs.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn each_python_function_that_waits_has_its_name() {
    if !is_known() {
        return;
    }
    let program = program("sleepers.py");
    let report = report(&program);
    let process = &report["processes"][0];
    // The program's functions wait at the lines with `with`, the sleep and `get`. The test finds
    // the numbers of these lines in the program's source.
    let source = std::fs::read_to_string(&program).expect("the program");
    let line = |text: &str| 1 + source.lines().position(|line| line.trim() == text).expect(text);
    for (function, text, least) in [
        // One of three threads sleeps for 20 ms while the other two wait, 60 times in all.
        ("ask", "with line:", 1.0),
        ("rest", "time.sleep(1.5)", 1.4),
        // Three answers come, each 400 ms after the one before.
        ("fetch", "return answers.get()", 0.8),
    ] {
        let place = format!("{function} at {}:{}", program.display(), line(text));
        assert!(waited(process, &place) > least, "{place}: {:#?}", process["sites"]);
    }
}

/// In a process to which Syncline has attached, the recorder is a copy in memory. Stacks go through
/// this copy too, so a wait that it has recorded is not reported a second time as a sleep.
#[test]
fn functions_of_an_attached_process_are_named_and_its_waits_are_counted_once() {
    if !is_known() {
        return;
    }
    let program = program("sleepers.py");
    let mut python = Command::new(PYTHON).arg(&program).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(300));
    let folder = scratch();
    let recording = folder.path().join("run");
    let pid = python.id().to_string();
    run(Command::new(syncline()).args(["record", "-p", &pid, "--for", "1s", "-o"]).arg(&recording));
    assert!(python.wait().expect("a status").success());
    let report = report_on(&recording);
    let process = &report["processes"][0];
    let ask = format!("ask at {}:", program.display());
    assert!(waited(process, &ask) > 0.3, "{:#?}", process["sites"]);
    // Waits that began before Syncline attached are seen only as sleeps.
    let asleep = process["asleep"].as_array().expect("sleeps");
    let at_libc = |sleep: &&Value| sleep["place"].as_str().expect("text").contains("futex");
    let seconds = |sleep: &Value| sleep["seconds"].as_f64().expect("seconds");
    let again: f64 = asleep.iter().filter(at_libc).map(seconds).sum();
    assert!(again < 0.2, "{asleep:#?}");
}

/// The seconds waited at call sites whose `place` begins with this text.
fn waited(process: &Value, place: &str) -> f64 {
    let sites = process["sites"].as_array().expect("sites").iter();
    let there = sites.filter(|site| site["place"].as_str().expect("text").starts_with(place));
    there.map(|site| site["figures"]["waited"].as_f64().expect("seconds")).sum()
}

#[test]
fn waits_for_the_interpreters_lock_are_named() {
    if !is_known() {
        return;
    }
    let report = report(&program("computers.py"));
    let remaining = report["processes"][0]["remaining"].as_array().expect("sentences");
    let is_the_locks = |said: &&Value| {
        said["what"] == "condvar of Python's interpreter lock (GIL)"
            && said["place"].as_str().is_some_and(|place| place.starts_with("compute at "))
    };
    // While one thread computes, the other waits.
    let said = remaining.iter().find(is_the_locks);
    let share = said.and_then(|said| said["share"].as_f64()).unwrap_or(0.0);
    assert!(share > 0.1, "{remaining:#?}");
}

/// The source shows what a function repeats. A `while` loop checks its condition again after each
/// sleep, whereas a `for` loop does a piece of work in each round.
#[test]
fn a_while_loop_that_sleeps_is_found() {
    if !is_known() {
        return;
    }
    let findings = |function: &str| {
        let report = report_with(&program("poller.py"), &[function]);
        let findings = report["processes"][0]["findings"].as_array().expect("findings").clone();
        let named = |finding: &Value| {
            format!("{} {}", finding["rule"].as_str().unwrap(), finding["place"].as_str().unwrap())
        };
        findings.iter().map(named).collect::<Vec<_>>()
    };
    let found = findings("look");
    assert!(found.len() == 1 && found[0].starts_with("polling-sleep look at "), "{found:?}");
    assert_eq!(findings("work"), Vec::<String>::new());
}

/// Samples are written while the program runs, so a report is possible while the program hangs.
#[test]
fn the_functions_of_a_program_that_hangs_are_named_while_it_hangs() {
    if !is_known() {
        return;
    }
    let folder = scratch();
    let recording = folder.path().join("run");
    let mut record = Command::new(syncline());
    record.arg("record").arg("-o").arg(&recording).arg("--").arg(PYTHON);
    let mut record = record.arg(program("poller.py")).arg("stand").spawn().expect("it starts");
    let stand = || {
        std::thread::sleep(Duration::from_millis(500));
        let report = report_if_begun(&recording)?;
        let why = report["processes"][0]["stuck"][0]["why"].as_str()?.to_owned();
        why.contains("waits at stand").then_some(why)
    };
    let why = (0..60).find_map(|_| stand());
    signal::kill(Pid::from_raw(record.id() as i32), Signal::SIGTERM).expect("it runs");
    record.wait().expect("a status");
    assert!(why.is_some(), "{:#?}", report_if_begun(&recording));
}

/// The report on a recording that has begun; `None` if it has not.
fn report_if_begun(recording: &Path) -> Option<Value> {
    let report = Command::new(syncline()).args(["report", "--json"]).arg(recording).output();
    serde_json::from_slice(&report.expect("it starts").stdout).ok()
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

/// Whether the sampler knows the interpreter's version. Debian 12 and 13 have such a version.
fn is_known() -> bool {
    let version = Command::new(PYTHON).arg("--version").output().expect("Debian's Python");
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let known = ["Python 3.11.", "Python 3.12.", "Python 3.13."];
    let is_known = known.iter().any(|start| version.starts_with(start));
    if !is_known {
        eprintln!("left out: the sampler does not know {version}");
    }
    is_known
}

/// Records a Python program, and returns the report.
fn report(program: &Path) -> Value {
    report_with(program, &[])
}

/// Like [`report`], of a program with arguments.
fn report_with(program: &Path, arguments: &[&str]) -> Value {
    let folder = scratch();
    let recording = folder.path().join("run");
    let mut record = Command::new(syncline());
    run(record
        .arg("record")
        .arg("-o")
        .arg(&recording)
        .arg("--")
        .arg(PYTHON)
        .arg(program)
        .args(arguments));
    report_on(&recording)
}

fn report_on(recording: &Path) -> Value {
    let report = run(Command::new(syncline()).args(["report", "--json"]).arg(recording));
    serde_json::from_slice(&report).expect("JSON")
}

/// Runs a command that must succeed, and returns its output.
fn run(command: &mut Command) -> Vec<u8> {
    let run = command.output().expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    run.stdout
}
