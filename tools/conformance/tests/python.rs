//! The functions of Python programs are named, though all of them wait through the same functions of
//! the interpreter.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use syncline_conformance::{scratch, syncline};

/// Debian's interpreter, whose version is one that the sampler knows.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn each_python_function_that_waits_has_its_name() {
    let version = Command::new(PYTHON).arg("--version").output().expect("Debian's Python");
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let known = ["Python 3.11.", "Python 3.12.", "Python 3.13."];
    assert!(known.iter().any(|start| version.starts_with(start)), "{version} is not known");
    let folder = scratch();
    let recording = folder.path().join("run");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/sleepers.py");
    let mut record = Command::new(syncline());
    run(record.arg("record").arg("-o").arg(&recording).arg("--").arg(PYTHON).arg(&program));
    let report = run(Command::new(syncline()).args(["report", "--json"]).arg(&recording));
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    let process = &report["processes"][0];

    // The program's functions wait at the lines with `with`, the sleep and `get`; the program's
    // source has the lines' numbers.
    let source = std::fs::read_to_string(&program).expect("the program");
    let line = |text: &str| 1 + source.lines().position(|line| line.trim() == text).expect(text);
    let sites = process["sites"].as_array().expect("sites");
    let seconds = |site: &Value| site["figures"]["waited"].as_f64().expect("seconds");
    let waited = |place: &str| -> f64 {
        let is_there = |site: &&Value| site["place"].as_str().expect("text").contains(place);
        sites.iter().filter(is_there).map(seconds).sum()
    };
    let places: Vec<String> =
        sites.iter().map(|site| format!("{} {:.3}", site["place"], seconds(site))).collect();
    for (function, text, least) in [
        // One of three threads sleeps for 20 ms while the other two wait, 60 times in all.
        ("ask", "with line:", 1.0),
        ("rest", "time.sleep(1.5)", 1.4),
        // Three answers come, each 400 ms after the one before.
        ("fetch", "return answers.get()", 0.8),
    ] {
        let place = format!("{function} at {}:{}", program.display(), line(text));
        assert!(waited(&place) > least, "{place}: {places:#?}");
    }
}

/// Runs a command that must succeed, and returns its output.
fn run(command: &mut Command) -> Vec<u8> {
    let run = command.output().expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    run.stdout
}
