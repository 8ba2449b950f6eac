//! The findings of a recording, without and with a trace of its sections. The workloads have those
//! problems from SyncPerf's table that counts alone can't distinguish.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use syncline_conformance::{Outcome, preload_library, run_limited, scratch, syncline};

use crate::{LONGEST, inspect, text};

/// The most recordings that a test makes. On few processors that other programs use as well, it is
/// random whether a recording shows contention.
const RECORDINGS: usize = 6;
/// The rules that may match a contended lock by its counts alone.
const CONTENDED: [&str; 4] = ["too-much-data", "too-long-section", "convoy", "preempted-holder"];

/// A workload, and the line where its finding is marked.
struct Workload {
    program: PathBuf,
    place: String,
    folder: tempfile::TempDir,
}

impl Workload {
    fn compile(file: &str, flags: &[&str]) -> Workload {
        let folder = scratch();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(file);
        let written = std::fs::read_to_string(&source).expect("a workload");
        let line = written.lines().position(|line| line.contains("/* FINDING "));
        let program = folder.path().join("workload");
        let compiler = if file.ends_with(".cpp") { "c++" } else { "cc" };
        let mut command = Command::new(compiler);
        command.args(["-O2", "-g", "-pthread"]).args(flags).arg(&source).arg("-o").arg(&program);
        run_limited(&mut command, LONGEST).assert_status(0);
        Workload { program, place: format!("{file}:{}", line.expect("a mark") + 1), folder }
    }

    fn run(&self, command: &str, words: &[&str]) -> Outcome {
        preload_library();
        let mut run = Command::new(syncline());
        run.arg(command).args(words).current_dir(self.folder.path());
        let outcome = run_limited(&mut run, LONGEST);
        outcome.assert_status(0);
        outcome
    }

    /// Records until one of these rules has a finding at the marked line, or once if there are no
    /// rules. Returns the findings at that line.
    fn record(&self, work: &str, rules: &[&str]) -> Vec<Value> {
        let program = self.program.to_str().expect("a path");
        for _ in 0..RECORDINGS {
            self.run("record", &["-o", "recording", "--", program, "--work", work]);
            let findings = self.findings(&[]);
            let speaks = |f: &Value| rules.iter().any(|rule| f["rule"] == *rule);
            if rules.is_empty() || findings.iter().any(speaks) {
                return findings;
            }
        }
        panic!("none of {rules:?} at {} in {RECORDINGS} recordings", self.place);
    }

    /// Traces all sections of the locks that the recording's findings are about, or of the call
    /// sites with the most waiting.
    fn inspect(&self, work: &str, words: &[&str]) -> Outcome {
        let program = self.program.to_str().expect("a path");
        let mut all = vec!["--from", "recording", "--budget", "0", "--trace-only"];
        all.extend(words);
        all.extend(["--", program, "--work", work]);
        let outcome = inspect(self.folder.path(), &all);
        outcome.assert_status(0);
        outcome
    }

    /// The findings at the marked line.
    fn findings(&self, words: &[&str]) -> Vec<Value> {
        let mut all = vec!["--json", "recording"];
        all.extend(words);
        let report: Value = serde_json::from_slice(&self.run("report", &all).stdout).expect("JSON");
        let findings = report["processes"][0]["findings"].as_array().expect("findings").clone();
        let here = |f: &Value| f["place"].as_str().is_some_and(|p| p.ends_with(&self.place));
        findings.into_iter().filter(here).collect()
    }
}

#[track_caller]
fn by_rule<'a>(findings: &'a [Value], rule: &str) -> &'a Value {
    let found = findings.iter().find(|finding| finding["rule"] == rule);
    found.unwrap_or_else(|| panic!("no {rule} in {findings:#?}"))
}

fn evidence(finding: &Value, what: &str) -> f64 {
    let all = finding["evidence"].as_array().expect("evidence");
    let found = all.iter().find(|e| e["what"] == what);
    found.and_then(|e| e["value"].as_f64()).unwrap_or_else(|| panic!("no {what} in {finding:#}"))
}

/// Too much data under one lock: with counts alone the finding has an open question; with a trace
/// it has the number of pieces.
#[test]
fn too_much_data_is_a_question_that_a_trace_answers() {
    let workload = Workload::compile("one-table-lock.c", &[]);
    let before = workload.record("10", &CONTENDED);
    let asked = before.iter().find_map(|f| f["open_question"]["command"].as_str());
    if let Some(command) = asked {
        assert!(command.starts_with("syncline inspect --from recording -- "), "{command}");
        assert!(command.ends_with("workload --work 10"), "{command}");
    }
    let outcome = workload.inspect("3", &[]);
    let said = text(&outcome.stderr);
    assert!(said.contains("`syncline report recording` uses this trace"), "{said}");
    // Only the locks that the recording's findings are about were traced.
    let trace = inspect(workload.folder.path(), &["--json", "--read", "recording/trace"]);
    let trace: Value = serde_json::from_slice(&trace.stdout).expect("JSON");
    let locks = trace["processes"][0]["locks"].as_array().expect("locks");
    let sites = locks.iter().flat_map(|lock| lock["sites"].as_array().expect("sites"));
    let places: Vec<&str> = sites.filter_map(|site| site["place"].as_str()).collect();
    assert!(places.iter().all(|place| place.contains(&workload.place)), "{places:?}");
    assert_eq!(places.len(), 1, "{places:?}");
    let after = workload.findings(&[]);
    let finding = by_rule(&after, "too-much-data");
    assert!(finding["open_question"].is_null(), "{finding:#}");
    assert!(evidence(finding, "pieces of data that traced sections access") > 1000.0);
    assert!(evidence(finding, "pairs of traced sections that are independent") > 0.9);
    assert!(after.iter().all(|f| f["rule"] != "too-long-section"), "{after:#?}");
    // The text and the HTML page also show the number of pieces. `--trace` may name another trace.
    let told = text(&workload.run("report", &["recording"]).stdout);
    assert!(told.contains("pieces of data"), "{told}");
    workload.run("report", &["recording", "--html", "page.html"]);
    let page = std::fs::read_to_string(workload.folder.path().join("page.html")).expect("a page");
    assert!(page.contains("independent pieces of data"));
    let own = workload.folder.path().join("recording/trace");
    std::fs::rename(own, workload.folder.path().join("elsewhere")).expect("a trace");
    let without = workload.findings(&[]);
    assert!(without.iter().all(|f| !f["advice"].as_str().is_some_and(|a| a.contains("pieces"))));
    by_rule(&workload.findings(&["--trace", "elsewhere"]), "too-much-data");
}

/// A section that is too long: the finding names the lines that could be outside.
#[test]
fn a_too_long_section_names_lines_that_could_be_outside() {
    let workload = Workload::compile("long-section.cpp", &[]);
    workload.record("10", &CONTENDED);
    workload.inspect("6", &[]);
    let after = workload.findings(&[]);
    let finding = by_rule(&after, "too-long-section");
    assert!(finding["open_question"].is_null(), "{finding:#}");
    assert!(evidence(finding, "share of instructions that access no shared data") > 0.99);
    let advice = finding["advice"].as_str().expect("an advice");
    assert!(advice.contains("random"), "the generator's lines: {advice}");
    assert!(after.iter().all(|f| f["rule"] != "too-much-data"), "{after:#?}");
}

/// A section's data is local to its function, but other functions access it. The function's own
/// instructions don't show that.
#[test]
fn local_data_is_recognised_behind_calls() {
    let workload = Workload::compile("local-data.c", &["-fno-inline"]);
    let before = workload.record("10", &[]);
    assert!(before.iter().all(|f| f["rule"] != "local-data-only"), "{before:#?}");
    inspect_site(&workload, "format");
    let after = workload.findings(&["--trace", "syncline-trace"]);
    let finding = by_rule(&after, "local-data-only");
    assert!(evidence(finding, "sections traced here") > 1000.0);
    assert!(finding["advice"].as_str().expect("an advice").contains("no traced section"));
}

/// If a program was recorded several times, its trace is in the folder of the first run but holds
/// for all runs. So a finding that the trace decides counts as a finding of every run.
#[test]
fn a_trace_is_of_all_runs() {
    let workload = Workload::compile("local-data.c", &["-fno-inline"]);
    let program = workload.program.to_str().expect("a path");
    let words = ["-o", "recording", "--runs", "2", "--", program, "--work", "10"];
    workload.run("record", &words);
    inspect_site(&workload, "format");
    let folder = workload.folder.path();
    std::fs::rename(folder.join("syncline-trace"), folder.join("recording/trace"))
        .expect("a trace");
    by_rule(&workload.findings(&[]), "local-data-only");
    let report = workload.run("report", &["--json", "recording"]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let seen = report["processes"][0]["runs"]["findings"].as_array().expect("findings");
    assert_eq!(by_rule(seen, "local-data-only")["runs"], 2, "{seen:#?}");
}

/// Sections that change shared data by atomic instructions only.
#[test]
fn already_atomic_sections_are_recognised() {
    let workload = Workload::compile("atomic-under-lock.c", &[]);
    workload.record("10", &[]);
    inspect_site(&workload, "item_remove");
    let after = workload.findings(&["--trace", "syncline-trace"]);
    let finding = by_rule(&after, "already-exclusive");
    assert!(evidence(finding, "sections traced here") > 1000.0, "{finding:#}");
    let report = inspect(workload.folder.path(), &["--json", "--read", "syncline-trace"]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let advice = &report["processes"][0]["locks"][0]["advice"][0]["what"];
    assert_eq!(advice, "already_atomic", "as the trace says it, whatever reading the code does");
}

/// Traces all sections of one call site, even if the recording has no finding about it.
fn inspect_site(workload: &Workload, site: &str) {
    let program = workload.program.to_str().expect("a path");
    let words = ["--site", site, "--budget", "0", "--trace-only", "--", program, "--work", "1"];
    inspect(workload.folder.path(), &words).assert_status(0);
}

/// The limit on a trace's size holds, and the output says that it was reached. Tracing stops there,
/// and counting continues.
#[test]
fn a_trace_that_is_full_says_so_and_counts_on() {
    const REQUESTS: u64 = 4 * 700_000 * 6 / 100;
    const LIMIT: u64 = 16 << 20;
    let workload = Workload::compile("one-table-lock.c", &[]);
    let program = workload.program.to_str().expect("a path");
    let words =
        ["--budget", "0", "--max-size", "16M", "--trace-only", "--", program, "--work", "6"];
    let run = inspect(workload.folder.path(), &words);
    run.assert_status(0);
    let errors = text(&run.stderr);
    assert!(errors.contains("did not fit") && errors.contains("--max-size"), "{errors}");
    let files = std::fs::read_dir(workload.folder.path().join("syncline-trace")).expect("a trace");
    for file in files {
        assert!(file.expect("a file").metadata().expect("its size").len() <= LIMIT);
    }
    let report = inspect(workload.folder.path(), &["--json", "--read", "syncline-trace"]);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let process = &report["processes"][0];
    let count = |what: &str| process[what].as_u64().expect("a number");
    assert_eq!(count("acquisitions"), REQUESTS);
    assert!(count("dropped") >= 1 && count("traced") > 1000 && count("traced") < REQUESTS / 2);
}
