//! `syncline whatif`, on a program for which the effect of each call site is known by construction.
//!
//! The program prints how long it would have taken on an idle machine (`programs/slowed.c`), so the
//! measured figure does not depend on other work of the machine. `whatif` chooses the length of its
//! delays by the real run time, which does depend on other work; [`arrives`] corrects for this.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use syncline_conformance::{Program, delay_library, scratch, syncline};

const SOURCE: &str = include_str!("../../programs/slowed.c");

/// The position, as `slowed.c:LINE`, of the line that ends with this comment.
fn place(comment: &str) -> String {
    let end = format!("// {comment}");
    let line = SOURCE.lines().position(|line| line.ends_with(&end)).expect("a line");
    format!("slowed.c:{}", line + 1)
}

fn slowing(what: &str, options: &[&str]) -> Command {
    delay_library();
    let mut command = Command::new(syncline());
    command.arg("whatif").args(["--metric", r"took (\d+)", "--less-is-better"]).args(options);
    command.arg("--").arg(Program::compile("slowed.c").path()).arg(what);
    command
}

fn done(command: &mut Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    output
}

/// Runs `whatif`, and returns its result for each of these call sites. A call site is given by the
/// comment at the end of its line.
fn measured(what: &str, runs: &str, places: &[&str]) -> Vec<Value> {
    let names: Vec<String> = places.iter().map(|comment| place(comment)).collect();
    let mut options = vec!["--json", "-n", runs];
    options.extend(names.iter().flat_map(|name| ["--site", name]));
    let text = done(&mut slowing(what, &options)).stdout;
    let document: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(document["schema"], "syncline-whatif/1");
    let found = document["places"].as_array().expect("places").clone();
    assert_eq!(found.len(), places.len(), "{document}");
    found
}

/// The part of each added nanosecond that arrives in the run time: low, median, high. `whatif`
/// chose the delays in proportion to the real run time, but the figure is the run time that the
/// program prints. So the part is scaled by the ratio of the two run times.
fn arrives(of: &Value, what: &str) -> [f64; 3] {
    let plain = Command::new(Program::compile("slowed.c").path()).arg(what).output().expect("runs");
    let text = String::from_utf8_lossy(&plain.stdout).into_owned();
    let own: f64 = text.split(' ').nth(1).and_then(|ns| ns.parse().ok()).expect("a time");
    let scale = own * 1e-9 / of["seconds"].as_f64().expect("seconds");
    ["low", "median", "high"].map(|which| {
        scale * of["follows"]["arrives"][which].as_f64().unwrap_or_else(|| panic!("{of}"))
    })
}

/// Checks the results for a lock that is always held by some thread, and for one that no thread
/// waits for.
fn critical_and_not(what: &str, critical: &str, apart: &str) {
    let places = measured(what, "8", &[critical, apart]);
    let counts = places.iter().map(|place| place["times"].as_f64());
    assert_eq!(counts.collect::<Vec<_>>(), [Some(400.0), Some(100.0)]);
    let [low, all, _] = arrives(&places[0], what);
    assert!((0.6..1.6).contains(&all), "all of it arrives, and not {all}");
    let [_, none, high] = arrives(&places[1], what);
    assert!(none.abs() < 0.2, "nothing arrives, and not {none}");
    assert!(low > high, "{low} and {high}");
}

#[test]
fn delays_arrive_from_a_critical_lock_and_not_from_another() {
    critical_and_not("locks", "shared", "apart");
}

#[test]
fn a_call_site_behind_wrappers_is_named_by_its_caller() {
    critical_and_not("deep", "deep shared", "deep apart");
}

#[test]
fn a_loop_of_tries_waits_for_something_else() {
    let places = measured("try", "7", &["polled"]);
    assert_eq!(places[0]["delayed"], "try");
    assert!(places[0]["times"].as_f64() > Some(10.0), "{places:?}");
    let [_, none, _] = arrives(&places[0], "try");
    assert!(none.abs() < 0.2, "nothing arrives, and not {none}");
}

/// One thread at a time waits for a turn; both threads wait for a barrier at the same time.
#[test]
fn delays_of_successive_waits_add_up_and_parallel_ones_do_not() {
    let turns = measured("wait", "7", &["turn"]);
    assert_eq!(turns[0]["delayed"], "wait");
    let [_, all, _] = arrives(&turns[0], "wait");
    assert!((0.6..1.6).contains(&all), "all of it arrives, and not {all}");
    let meetings = measured("barrier", "7", &["meeting"]);
    assert_eq!(meetings[0]["times"], 400.0, "two threads, two hundred times");
    let [_, half, _] = arrives(&meetings[0], "barrier");
    // If other programs use the processors, less than half of the delay arrives.
    assert!((0.15..0.8).contains(&half), "half of it arrives, and not {half}");
}

#[test]
fn failing_and_unreached_delays_are_reported() {
    let failing = measured("fails", "1", &["shared"]);
    let why = failing[0]["failed"].as_str().expect("a reason");
    assert!(why.contains("status 3"), "{why}");
    assert!(failing[0]["follows"].is_null());

    let named = place("polled");
    let output = done(&mut slowing("locks", &["--site", &named, "-n", "1"]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("not reached by this run"), "{text}");

    let output = slowing("locks", &["--site", "nothing.c:1"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(125));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("can't find the call site `nothing.c:1`"), "{errors}");
}

/// `whatif --from` chooses the call sites by a recording's findings and its other waiting, and then
/// the recording's report shows the results.
#[test]
fn a_report_shows_what_was_measured() {
    let folder = scratch();
    let recording = folder.path().join("recording");
    let program = Program::compile("slowed.c");
    let mut record = Command::new(syncline());
    record.arg("record").arg("-o").arg(&recording).arg("--").arg(program.path()).arg("locks");
    done(&mut record);
    let from = recording.to_str().expect("plain characters");
    let output = done(&mut slowing("locks", &["--from", from, "-n", "7", "--places", "1"]));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains(&place("shared")), "{text}");
    assert!(text.contains("the run would be at most"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    let report = |options: &[&str]| {
        let mut report = Command::new(syncline());
        let output = done(report.arg("report").args(options).arg(&recording));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let shown = report(&[]);
    assert!(shown.contains("     whatif: "), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("of the added time arrives in the run"), "{shown}");
    let document: Value = serde_json::from_str(&report(&["--json"])).expect("JSON");
    let experiment = &document["processes"][0]["whatif"][0];
    assert_eq!(experiment["delayed"], "section");
    let section = experiment["section_nanoseconds"].as_f64().expect("a length");
    assert!(section > 100_000.0, "it sleeps for so long: {section}");
}

#[test]
fn the_result_of_another_build_is_not_saved() {
    let folder = scratch();
    let (recording, program) = (folder.path().join("recording"), folder.path().join("slowed"));
    fs::copy(Program::compile("slowed.c").path(), &program).expect("a program");
    let mut record = Command::new(syncline());
    done(record.arg("record").arg("-o").arg(&recording).arg("--").arg(&program).arg("locks"));
    fs::remove_file(&program).expect("a program");
    fs::copy(Program::compile_with("slowed.c", &["-O1"]).path(), &program).expect("a program");
    delay_library();
    let mut whatif = Command::new(syncline());
    whatif.args(["whatif", "-n", "1", "--site", &place("shared"), "--from"]).arg(&recording);
    let output = done(whatif.arg("--").arg(&program).arg("locks"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("not saved") && errors.contains("is not the build"), "{errors}");
    assert!(!recording.join("whatif.json").exists());
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let folder = scratch();
    let named = place("shared");
    let mut command = slowing("locks", &["--site", &named, "-n", "10000"]);
    let command = command.env("TMPDIR", folder.path()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    sleep(Duration::from_secs(4));
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("an interrupt");
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("a text");
    assert!(child.wait().expect("its status").success());
    assert!(text.contains("Medians of "), "{text}");
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!is_running("slowed", folder.path()), "a program runs on");
}

/// Whether a process of this name runs whose environment contains the folder's path. The path is in
/// the variable that names the file for the process's counts.
fn is_running(name: &str, folder: &Path) -> bool {
    let wanted = folder.to_string_lossy().into_owned();
    fs::read_dir("/proc").expect("processes").flatten().any(|process| {
        let read = |file: &str| fs::read(process.path().join(file)).unwrap_or_default();
        let (command, variables) = (read("comm"), read("environ"));
        String::from_utf8_lossy(&command).trim() == name
            && String::from_utf8_lossy(&variables).contains(&wanted)
    })
}
