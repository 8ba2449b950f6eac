//! Exports, read by the tools for which they are made (Go's pprof, inferno). The two trace formats
//! are read by code that shares nothing with the writers.

mod firefox;
mod perfetto;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use syncline_analysis::Analysis;
use syncline_analysis::model::{Activity, Kind, Process};
use syncline_recording::Op;
use syncline_recording::layout::{EVENT_HOLD, EVENT_WAIT};
use syncline_report::export;
use tempfile::TempDir;

use crate::fixture::{Fixture, MS, SECOND, US};
use crate::program::Program;
use crate::sections::CPP;

/// A process with two threads. Anna waits for the lock "stove" that Ben holds; Ben waits for a lock
/// "pot", and for work. Ben holds two locks at overlapping times.
fn kitchen() -> Fixture {
    let mut f = Fixture::new(&["/bin/kitchen"], 2);
    f.module("/nowhere/bin/kitchen", 0x1000..0x9000, 0x1000, &[0xab; 20]);
    let (anna, ben) = (f.thread("anna", 0..2 * SECOND), f.thread("ben", 0..2 * SECOND));
    let (fry, cook) = (f.stack(&[0x1101, 0x1901]), f.stack(&[0x1101, 0x1a01]));
    let (boil, idle) = (f.stack(&[0x1201]), f.stack(&[0x1301]));
    f.row(anna, Op::MutexLock, 0x8000, fry, 100).waited(&[MS, 2 * MS]);
    f.row(anna, Op::MutexLock, 0x8000, cook, 10).waited(&[7 * US]);
    f.row(ben, Op::RwlockWrite, 0x8040, boil, 50).waited(&[500 * US; 4]);
    f.row(ben, Op::CondWait, 0x8080, idle, 9).waited(&[100 * MS; 9]);
    f.row(ben, Op::MutexLock, 0x80c0, boil, 1000);
    f.header.timeline = 1;
    let (stove, pot) = ((Op::MutexLock, 0x8000, fry), (Op::RwlockWrite, 0x8040, boil));
    f.event(ben, EVENT_HOLD, (Op::MutexLock, 0x8000, cook), 10 * MS..14 * MS);
    f.event(ben, EVENT_HOLD, pot, 12 * MS..16 * MS);
    f.event(ben, EVENT_HOLD, pot, 16 * MS..17 * MS);
    f.event(ben, EVENT_WAIT, (Op::CondWait, 0x8080, idle), 20 * MS..120 * MS);
    f.event(anna, EVENT_WAIT, stove, 13 * MS..14 * MS).who = ben as u16;
    f.event(anna, EVENT_HOLD, stove, 14 * MS..15 * MS);
    f.event(anna, EVENT_WAIT, stove, 30 * MS..32 * MS).who = ben as u16;
    f
}

/// The number of waits for locks, and their total nanoseconds, according to the analysis.
fn waited(process: &Process) -> (u64, u64) {
    let sites = process.sites.iter().filter(|site| site.kind == Kind::Lock);
    let figures = sites.map(|site| &site.figures);
    let sums = figures.fold((0, 0.0), |(waits, waited), figures| {
        (waits + figures.waits + figures.unfinished, waited + figures.waited)
    });
    (sums.0, (sums.1 * 1e9_f64).round() as u64)
}

/// The total seconds of all waits, or of all holds.
fn spans(process: &Process, activity: Activity) -> f64 {
    let spans = process.timeline.threads.iter().flatten();
    spans.filter(|span| span.activity == activity).map(|span| span.ended - span.began).sum()
}

/// The output of Go's pprof for the exported profile.
fn go_pprof(analysis: &Analysis, arguments: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("profile.pb.gz");
    export::pprof(analysis, &mut std::fs::File::create(&file).unwrap()).unwrap();
    pprof_of(&file, folder.path(), arguments)
}

fn pprof_of(file: &Path, folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("go");
    command.args(["tool", "pprof", "-symbolize=none"]).args(arguments).arg(file);
    command.env("PPROF_TMPDIR", folder);
    let output = command.output().expect("Go is missing: run ./x setup");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn pprof_reads_what_the_analysis_has() {
    let analysis = kitchen().load();
    let raw = go_pprof(&analysis, &["-raw"]);
    assert!(raw.contains("contentions/count delay/nanoseconds[dflt]"), "{raw}");
    let samples = raw.split("Samples:\n").nth(1).unwrap().split("Locations\n").next().unwrap();
    let values = samples.lines().filter_map(|line| {
        let (values, stack) = line.split_once(':')?;
        let mut values = values.split_whitespace();
        let number = |text: &str| text.parse::<u64>().ok();
        let sample = (number(values.next()?)?, number(values.next()?)?);
        Some((sample, stack.split_whitespace().count()))
    });
    let values: Vec<_> = values.collect();
    assert_eq!(values.len(), 3, "a wait for an event is none for a lock:\n{raw}");
    assert!(values.contains(&((2, 3_000_000), 2)), "{values:?}");
    let sum = values.iter().fold((0, 0), |sum, (value, _)| (sum.0 + value.0, sum.1 + value.1));
    assert_eq!(sum, waited(&analysis.processes[0]));
    assert!(raw.contains(&format!("/nowhere/bin/kitchen {}", "ab".repeat(20))), "{raw}");
    assert!(raw.contains("operation:[mutex lock]"), "{raw}");
    let top = go_pprof(&analysis, &["-top"]);
    assert!(top.contains("Type: delay"), "{top}");
    assert!(top.contains("3.01ms 60.06% 60.06%     3.01ms 60.06%  kitchen+0x100"), "{top}");
}

#[test]
fn pprof_has_lines_and_inlined_calls() {
    let program = Program::compile(CPP, "c++", &["-O2"]);
    let (mut f, stack) = program.acquires("Queue::push(");
    let thread = f.thread("main", 0..SECOND);
    f.row(thread, Op::MutexLock, 0x10, stack, 5).waited(&[MS]);
    let raw = go_pprof(&f.load(), &["-raw"]);
    let locations = raw.split("Locations\n").nth(1).unwrap();
    let locations = locations.split("Mappings\n").next().unwrap();
    assert!(locations.contains("Queue::push"), "{raw}");
    assert!(locations.contains("source.cpp:11"), "{raw}");
    assert!(locations.contains("std::mutex::lock"), "{raw}");
    let addresses = locations.lines().filter(|line| line.contains(": 0x")).count();
    assert_eq!(addresses, 1, "inlined calls share an address:\n{raw}");
    assert!(raw.contains("[FN][FL][LN][IN]"), "{raw}");
}

#[test]
fn pprof_tells_processes_apart() {
    let mut analysis = kitchen().load();
    let mut second = analysis.processes[0].clone();
    second.pid = 9;
    analysis.processes.push(second);
    let raw = go_pprof(&analysis, &["-raw"]);
    for process in ["process:[kitchen (4711)]", "process:[kitchen (9)]"] {
        assert_eq!(raw.matches(process).count(), 3, "{raw}");
    }
    let mappings = raw.split("Mappings\n").nth(1).unwrap();
    assert_eq!(mappings.matches("/nowhere/bin/kitchen").count(), 2, "{raw}");
}

fn folded(analysis: &Analysis, value: export::Value) -> String {
    let mut out = Vec::new();
    export::folded(analysis, value, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn folded_stacks_become_a_flame_graph() {
    let analysis = kitchen().load();
    let text = folded(&analysis, export::Value::Delay);
    let expected = "\
kitchen+0x200 2000
kitchen+0x900;kitchen+0x100 3000
kitchen+0xa00;kitchen+0x100 7
";
    assert_eq!(text, expected);
    let waits = folded(&analysis, export::Value::Waits);
    let sum: u64 =
        waits.lines().map(|l| l.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, waited(&analysis.processes[0]).0);
    let mut graph = Vec::new();
    let mut options = inferno::flamegraph::Options::default();
    inferno::flamegraph::from_reader(&mut options, text.as_bytes(), &mut graph).unwrap();
    let graph = String::from_utf8(graph).unwrap();
    assert!(graph.contains("kitchen+0x100 (3,000 samples, 59.92%)"), "{graph}");
    assert!(graph.contains("all (5,007 samples, 100%)"), "{graph}");
}

#[test]
fn a_name_cant_break_a_folded_line() {
    let mut analysis = kitchen().load();
    for frame in &mut analysis.processes[0].frames {
        frame.function = "f(a; b)\nx".to_owned();
    }
    let text = folded(&analysis, export::Value::Delay);
    assert_eq!(text.lines().next(), Some("f(a: b):x 2000"), "{text}");
    assert_eq!(text.lines().count(), 2, "equal stacks are one line: {text}");
}

#[test]
fn json_has_the_report_and_the_timelines() {
    let analysis = kitchen().load();
    let mut out = Vec::new();
    export::json(&analysis, &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["schema"], "syncline-report/1");
    assert_eq!(document["processes"][0]["pid"], 4711);
    let timeline = &document["timelines"][0];
    assert_eq!(timeline["holds"], true);
    let first = &timeline["threads"][0][0];
    assert_eq!((&first["activity"], &first["by"]), (&Value::from("wait"), &Value::from(1)));
}
