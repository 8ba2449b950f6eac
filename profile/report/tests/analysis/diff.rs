//! The comparison of two recordings: a program with one hot lock, before and after a change.

use serde_json::Value;
use syncline_analysis::Analysis;
use syncline_analysis::diff::{self, Diff, Fate};
use syncline_analysis::model::{Finding, Gain, Kind, Method, Remedy, Rule};
use syncline_present::terminal::Style;
use syncline_recording::Op;
use syncline_report::{diff_json, terminal_diff};

use crate::fixture::{Fixture, MS, SECOND};

/// A run of `seconds` seconds with two sites, which wait for a millisecond `push` and `pop` times.
fn run(seconds: u64, push: u64, pop: u64) -> Analysis {
    let mut f = Fixture::new(&["/bin/queue", "8"], seconds);
    f.module("/nowhere/bin/queue", 0x1000..0x9000, 0x1000, &[7; 20]);
    let thread = f.thread("queue", 0..seconds * SECOND);
    let (at_push, at_pop, idle) = (f.stack(&[0x1101]), f.stack(&[0x1201]), f.stack(&[0x1301]));
    let waits = |count: u64| vec![MS; count as usize];
    f.row(thread, Op::MutexLock, 0x8000, at_push, 1000).waited(&waits(push));
    f.row(thread, Op::MutexLock, 0x8000, at_pop, 1000 * seconds).waited(&waits(pop));
    f.row(thread, Op::CondWait, 0x8040, idle, 3).waited(&waits(30));
    let mut analysis = f.load();
    // The tests add findings of their own.
    analysis.processes[0].findings.clear();
    analysis
}

/// Gives a site's frame a name, a file and a line.
fn name(analysis: &mut Analysis, offset: &str, function: &str, line: u32) {
    let process = &mut analysis.processes[0];
    let frames = process.frames.iter_mut();
    for frame in frames.filter(|frame| frame.function == format!("queue+{offset}")) {
        frame.function = function.to_owned();
        (frame.file, frame.line) = (Some(format!("/src/{line}/queue.c")), Some(line));
    }
}

fn finding(analysis: &mut Analysis, rule: Rule, function: &str, share: f64) {
    let process = &mut analysis.processes[0];
    let is_there = |frame: Option<usize>| {
        frame.is_some_and(|frame| process.frames[frame].function == function)
    };
    let site = process.sites.iter().position(|site| is_there(site.frame)).unwrap();
    process.findings.push(Finding {
        rule,
        title: format!("a problem worth {share}"),
        place: format!("{function} at /src/queue.c"),
        sites: vec![site],
        locks: vec![0],
        evidence: Vec::new(),
        advice: "mend it".to_owned(),
        open_question: None,
        remedy: Remedy::Unknown,
        gain: Some(Gain { share, seconds: share, method: Method::Replay }),
    });
}

/// Two runs. The second one is half as long; its site `push` waits less, its site `pop` waits as
/// much in each second, and lines have moved.
fn before_and_after() -> (Analysis, Analysis) {
    let (mut before, mut after) = (run(4, 400, 200), run(2, 20, 100));
    for (analysis, line) in [(&mut before, 10), (&mut after, 17)] {
        name(analysis, "0x100", "push(int)", line);
        name(analysis, "0x200", "pop()", line + 20);
    }
    (before, after)
}

fn diff_of(before: &Analysis, after: &Analysis) -> Diff {
    diff::diff(before, after).expect("both have a process")
}

#[test]
fn sites_match_across_moved_lines_with_rates_per_second() {
    let (before, after) = before_and_after();
    let diff = diff_of(&before, &after);
    assert_eq!((diff.before.seconds, diff.after.seconds), (4.0, 2.0));
    let locks: Vec<_> = diff.sites.iter().filter(|site| site.kind == Kind::Lock).collect();
    assert_eq!(locks.len(), 2, "{locks:#?}");
    let push = locks[0];
    assert_eq!(
        (&*push.function, push.file.as_deref(), push.line),
        ("push(int)", Some("queue.c"), Some(17))
    );
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(push.before.unwrap().waited, 0.1) && close(push.after.unwrap().waited, 0.01));
    assert!(close(push.waited(), -0.09));
    assert!(close(push.before.unwrap().calls, 250.0) && close(push.after.unwrap().calls, 500.0));
    assert!(close(locks[1].waited(), 0.0), "it waited as much in each second");
}

#[test]
fn new_and_gone_sites_are_listed() {
    let (before, mut after) = before_and_after();
    name(&mut after, "0x300", "none", 1);
    for frame in &mut after.processes[0].frames {
        if frame.function == "pop()" {
            frame.function = "take()".to_owned();
        }
    }
    let diff = diff_of(&before, &after);
    let site = |function: &str| diff.sites.iter().find(|site| site.function == function).unwrap();
    assert!(site("pop()").before.is_some() && site("pop()").after.is_none());
    assert!(site("take()").before.is_none() && site("take()").after.is_some());
}

#[test]
fn findings_are_new_changed_gone_or_the_same() {
    let (mut before, mut after) = before_and_after();
    finding(&mut before, Rule::TooMuchData, "push(int)", 0.3);
    finding(&mut before, Rule::Convoy, "push(int)", 0.2);
    finding(&mut before, Rule::AtomicInstead, "pop()", 0.105);
    finding(&mut after, Rule::AtomicInstead, "pop()", 0.1);
    finding(&mut after, Rule::Convoy, "push(int)", 0.05);
    finding(&mut after, Rule::Convoy, "pop()", 0.02);
    let diff = diff_of(&before, &after);
    let fates: Vec<(Fate, Rule)> = diff.findings.iter().map(|f| (f.fate, f.rule)).collect();
    let expected = [
        (Fate::New, Rule::Convoy),
        (Fate::Changed, Rule::Convoy),
        (Fate::Gone, Rule::TooMuchData),
        (Fate::Same, Rule::AtomicInstead),
    ];
    assert_eq!(fates, expected);
    let changed = &diff.findings[1];
    assert_eq!((changed.before.unwrap().share, changed.after.unwrap().share), (0.2, 0.05));
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let (mut before, _) = before_and_after();
    finding(&mut before, Rule::Convoy, "push(int)", 0.2);
    finding(&mut before, Rule::Convoy, "push(int)", 0.1);
    let diff = diff_of(&before, &before);
    assert!(diff.findings.iter().all(|finding| finding.fate == Fate::Same), "{diff:#?}");
    assert!(diff.sites.iter().all(|site| site.before == site.after && site.waited() == 0.0));
    let text = terminal(&diff);
    assert!(!text.contains("CALL SITES"), "nothing changed:\n{text}");
}

#[test]
fn the_process_of_the_same_name_is_compared() {
    let (before, mut after) = before_and_after();
    let mut other = after.processes[0].clone();
    other.executable = "/bin/sh".to_owned();
    other.seconds = 77.0;
    after.processes.insert(0, other);
    assert_eq!(diff_of(&before, &after).after.seconds, 2.0);
    after.processes.truncate(1);
    assert_eq!(diff_of(&before, &after).after.seconds, 77.0, "there is no other");
    after.processes.clear();
    assert!(diff::diff(&before, &after).is_none());
}

fn terminal(diff: &Diff) -> String {
    let mut out = Vec::new();
    terminal_diff(diff, &mut out, &Style::default()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_comparison_line_by_line() {
    let (mut before, mut after) = before_and_after();
    finding(&mut before, Rule::TooMuchData, "push(int)", 0.3);
    finding(&mut after, Rule::Convoy, "pop()", 0.02);
    let text = terminal(&diff_of(&before, &after));
    assert_eq!(text, TERMINAL, "\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

const TERMINAL: &str = "\
before  /bin/queue 8
after   /bin/queue 8

  before   after   change
  4.00 s  2.00 s  -50.0 %  run time
  600 ms  120 ms  -80.0 %  waiting for locks, all threads
  15.0 %   6.0 %  -60.0 %  waiting for locks, share of threads' time
   1,250   1,500  +20.0 %  acquisitions a second
       1       1      0 %  threads

FINDINGS  1 new, 0 changed, 1 gone, 0 the same
         saves    now  what, and where
   new       -  2.0 %  a problem worth 0.02  pop queue.c
  gone  30.0 %      -  a problem worth 0.3  push queue.c

CALL SITES  in each second of run time, before and after; most changed first
  waited      now  held ~  now  acquired  now  call site
  100 ms  10.0 ms       0    0       250  500  push queue.c:17  mutex lock

FUTEXES AND EVENTS  in each second of run time, before and after
   waited      now  held ~  now  acquired  now  call site
  7.50 ms  15.0 ms       0    0       0.8  1.5  queue+0x300  condvar wait
";

#[test]
fn the_json_diff_has_schema_sites_and_times() {
    let (before, after) = before_and_after();
    let mut out = Vec::new();
    diff_json(&diff_of(&before, &after), &mut out).unwrap();
    let document: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(document["schema"], "syncline-diff/1");
    assert_eq!(document["sites"][0]["function"], "push(int)");
    assert_eq!(document["sites"][0]["op"], "mutex_lock");
    assert_eq!(document["before"]["seconds"], 4.0);
}
