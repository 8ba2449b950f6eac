//! Tests of the three reports (terminal, page and JSON) of one recording.

use std::collections::BTreeSet;

use serde_json::Value;
use syncline_analysis::model::{
    Answer, Delay, Delayed, Evidence, Finding, Follows, Gain, Group, Method, Nesting, Note,
    OpenQuestion, Outer, Range, Remedy, Rule, Section, Shape, State, Unit, WhatIf,
};
use syncline_analysis::{Analysis, Options, Thresholds, together};
use syncline_present::terminal::Style;
use syncline_recording::Op;
use syncline_recording::layout::THREAD_RUNNING;
use syncline_report::{self as report, Extent};
use tempfile::TempDir;

use crate::fixture::{Fixture, MS, SECOND, START, US};

/// A process with one contended lock, one busy and one quiet lock, a queue, and a thread that still
/// waits.
fn shop() -> Fixture {
    let mut f = Fixture::new(&["/bin/shop", "--orders=9"], 4);
    f.module("/nowhere/bin/shop", 0x1000..0x9000, 0x1000, &[7; 20]);
    let main = f.thread("shop", 0..4 * SECOND);
    let clerk = f.thread("clerk", SECOND..4 * SECOND);
    let (sell, count) = (f.stack(&[0x1101, 0x1901]), f.stack(&[0x1201, 0x1901]));
    let (idle, setup) = (f.stack(&[0x1301]), f.stack(&[0x1401]));
    f.row(main, Op::MutexLock, 0x8000, sell, 1000)
        .waited(&[5 * MS; 200])
        .held(100, 100 * MS)
        .held_after_waiting(200, 400 * MS)
        .blocked_by(count, clerk, 190, 950 * MS);
    f.row(clerk, Op::MutexLock, 0x8000, count, 1000).waited(&[MS; 300]).blocked_by(
        sell,
        main,
        300,
        300 * MS,
    );
    f.row(clerk, Op::SpinLock, 0x8040, count, 4_000_000).held(50_000, 50_000 * US / 10);
    f.row(main, Op::RwlockTryWrite, 0xa0_0000, sell, 3).refused(1);
    f.row(main, Op::RwlockInit, 0xa0_0000, setup, 1);
    f.row(clerk, Op::CondWait, 0x8080, idle, 4).waited(&[100 * MS; 4]);
    f.row(main, Op::FutexWait, 0x80c0, idle, 2).waited(&[20 * MS, 5 * MS]);
    f.threads[main].cpu_ns = 2 * SECOND as i64;
    let record = &mut f.threads[clerk];
    (record.state, record.ended, record.start_function) = (THREAD_RUNNING, 0, 0x1500);
    (record.waiting_op, record.waiting_lock) = (Op::MutexLock as u32, 0x8000);
    (record.waiting_since, record.waiting_stack) = (START + 3500 * MS, count);
    f
}

fn terminal(analysis: &Analysis, extent: Extent, style: Style) -> String {
    let mut out = Vec::new();
    report::terminal(analysis, extent, &mut out, &style).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_terminal_report_line_by_line() {
    let text = terminal(&shop().load(), Extent::Tables, Style::default());
    assert_eq!(text, TERMINAL, "\n{text}");
}

const TERMINAL: &str = "\
/bin/shop --orders=9
pid 4711, 2 threads, ran 4.00 s, exited

  lost waiting for locks      1.80 s   25.7 % of its threads' 7.00 s
  on a processor              2.00 s   28.6 %
  waiting in futexes         25.0 ms   futex 25.0 ms (locks or events)
  waiting for events          400 ms   condvar 400 ms (may be idle)
  other kernel time           975 ms   13.9 % (asleep, or in input and output)
  not known                   1.80 s   25.7 % (their end was not seen)

FINDINGS  most to gain first; gains are predicted
  1. A long section that others wait for                                                saves little
     shop+0x100
     acquisitions: 500/s; contention: 25.0 %; mean time held (estimate): 600 µs; time waited: 1.80 s
     -> Keep in the section only what needs the lock: compute before it, and act on the result after
        it.
     ?  How many of the section's instructions access shared data? Only those need the lock. Run
        `syncline inspect` to find out.

CRITICAL PATH  what the end of the run waited for, traced back
  50.0 %  running        the first thread
  25.6 %  unknown        the first thread
  24.4 %  in the kernel  the first thread

WHAT ELSE TAKES TIME  share of all threads' time that no finding explains
   5.7 %  condvar shop+0x7080, at shop+0x300. 4 waits of 100 ms, by 1 thread; the waiting threads
          work for 60.0 % of their time: their waits may delay the run.

LOCKS  by time waited; time held is an estimate
  waited  longest  held ~  contended  acquired      /s  lock
  1.80 s   500 ms  1.20 s     25.0 %     2,000     500  mutex shop+0x7000
       0        0  400 ms        0 %    4.00 M  1.00 M  spinlock shop+0x7040
       0        0       -     25.0 %         3     0.8  rwlock created at shop+0x400

CALL SITES  added up over locks and threads
  waited  longest  held ~  contended  acquired      /s  call site
  1.00 s  5.00 ms  1.20 s     20.0 %     1,000     250  shop+0x100  mutex lock
  800 ms   500 ms       -     30.1 %     1,000     250  shop+0x200  mutex lock
       0        0  400 ms        0 %    4.00 M  1.00 M  shop+0x200  spinlock lock
       0        0       -     25.0 %         3     0.8  shop+0x100  rwlock trywrite

QUADRANTS  contended: more than 10.0 %; often: more than 1,000/s
                                  locks  sites  locks among them
  Q2 contended, taken often           0      0
  Q1 contended, taken seldom          2      3  shop+0x7000, rwlock created at shop+0x400
  Q4 not contended, taken often       1      1  shop+0x7040
  Q3 not contended, taken seldom      0      0

WHO BLOCKS WHOM  waiter, then where the holder had acquired the lock
  waited  waits     mean  waiter <- holder
  950 ms    190  5.00 ms  shop+0x100  <-  shop+0x200
  300 ms    300  1.00 ms  shop+0x200  <-  shop+0x100

FUTEXES AND EVENTS  waiting here may be time lost, or time with nothing to do
   waited  longest  waits  call site
  25.0 ms  20.0 ms      2  shop+0x300  futex wait
   400 ms   100 ms      4  shop+0x300  condvar wait

STILL WAITING  for a lock, when the recording ended or was read
     for  thread   name  lock and call site
  500 ms    4712  clerk  shop+0x7000  at shop+0x200

WHAT COULD NOT BE SEEN
  - futex locks (Rust's std, parking_lot, std::atomic::wait, GLib): only threads that had to wait
    are seen; uncontended acquisitions make no call, so rates and times held are not known
  - /nowhere/bin/shop can't be read: its addresses have no names
";

/// If hardly any time is lost, a finding with little gain is only named, even if it is the only
/// one.
#[test]
fn minor_findings_share_one_line() {
    let mut analysis = shop().load();
    let process = &mut analysis.processes[0];
    assert_eq!(process.findings.len(), 1);
    for site in &mut process.sites {
        // The sites wait for 130 ms in all, which is just below 2 % of the threads' 7 s.
        site.figures.waited *= 0.130 / 1.8;
    }
    let text = terminal(&analysis, Extent::Findings, Style::default());
    let expected =
        "FINDINGS  none whose fix would save much\n\n  Small: shop+0x100 (too-long-section)\n";
    assert!(text.contains(expected), "{text}");
    analysis.processes[0].sites[0].figures.waited = 0.150;
    let text = terminal(&analysis, Extent::Findings, Style::default());
    assert!(text.contains("  1. A long section that others wait for"), "{text}");
}

#[test]
fn lines_keep_to_the_width_and_colours_change_nothing_else() {
    let analysis = shop().load();
    for width in [80, 100, 120, 140] {
        let plain = terminal(&analysis, Extent::Tables, Style { color: false, width });
        let longest = plain.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(width), "{longest:?} of {width}:\n{plain}");
        let colored = terminal(&analysis, Extent::Tables, Style { color: true, width });
        assert_ne!(colored, plain);
        assert_eq!(without_escapes(&colored), plain);
    }
}

fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').unwrap().1).collect::<String>()
}

#[test]
fn processes_are_ordered_by_lost_time() {
    let folder = TempDir::new().unwrap();
    shop().write(&folder.path().join("2.syncline"));
    let mut quiet = Fixture::new(&["/bin/quiet"], 1);
    quiet.header.pid = 9;
    quiet.thread("quiet", 0..SECOND);
    quiet.write(&folder.path().join("1.syncline"));
    let analysis = Analysis::load(folder.path(), &Options::default()).unwrap();
    let text = terminal(&analysis, Extent::Findings, Style::default());
    assert!(text.starts_with("/bin/shop --orders=9\n"));
    assert!(text.contains("OTHER PROCESSES\n"));
    let line = text.lines().find(|line| line.ends_with("9  /bin/quiet"));
    assert_eq!(line, Some("      0    0 %        0       0        1  1.00 s    9  /bin/quiet"));
}

#[test]
fn thresholds_move_the_quadrants() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("1.syncline");
    shop().write(&path);
    let thresholds = Thresholds { contention: 0.9, acquisitions_per_second: 1e7 };
    let options = Options { thresholds, ..Options::default() };
    let process = &Analysis::load(&path, &options).unwrap().processes[0];
    assert_eq!((process.lock_quadrants.q3, process.lock_quadrants.q1), (3, 0));
}

fn json(analysis: &Analysis) -> Value {
    let mut out = Vec::new();
    report::json(analysis, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn the_json_report_has_the_figures_of_the_model() {
    let json = json(&shop().load());
    assert_eq!(json["schema"], report::SCHEMA);
    let process = &json["processes"][0];
    let lock = &process["locks"][0];
    assert_eq!((&lock["name"], &lock["address"]), (&"shop+0x7000".into(), &"0x8000".into()));
    assert_eq!(lock["figures"]["waits"], 500);
    assert_eq!(lock["figures"]["waited"], 1.8);
    assert_eq!(lock["quadrant"], "q1");
    let site = lock["sites"][0]["site"].as_u64().unwrap() as usize;
    assert_eq!(process["sites"][site]["place"], "shop+0x100");
    assert_eq!(process["state"], serde_json::json!({"how": "exited", "status": null}));
    let note = process["notes"].as_array().unwrap().last().unwrap();
    assert_eq!(note["kind"], "missing_module");
    assert!(note["message"].as_str().unwrap().contains("can't be read"));
}

#[test]
fn every_field_of_the_json_report_is_documented() {
    let mut analysis = shop().load();
    analysis.session = Some(syncline_recording::Session {
        version: 1,
        syncline: "0".into(),
        command: vec![],
        pid: 1,
        started: 0,
        seconds: None,
        ending: None,
        processors: 2,
        idle: None,
        kernel: String::new(),
    });
    analysis.notes.push(Note::Unreadable { error: String::new() });
    let process = &mut analysis.processes[0];
    process.state = State::Killed { signal: 9 };
    process.findings = every_remedy().map(finding).collect();
    process.nesting.push(Nesting {
        lock: 0,
        site: 0,
        stack: 0,
        outer: Some(Outer { address: 0, lock: None, stack: 0, site: None }),
        seen: 1,
    });
    process.sites[0].section = Some(Section::default());
    process.whatif.push(whatif());
    let analysis = together(vec![analysis.clone(), analysis]).expect("recordings of one program");
    let mut fields = BTreeSet::new();
    collect_fields(&json(&analysis), &mut fields);
    let documentation = include_str!("../../../../docs/report-json.md");
    fields.retain(|field| !documentation.contains(&format!("`{field}`")));
    assert!(fields.is_empty(), "docs/report-json.md does not mention {fields:?}");
}

/// One run has every finding but the last; the other run has only the first and the last.
#[test]
fn findings_of_several_runs_say_how_often_they_were_seen() {
    let (mut one, mut other) = (shop().load(), shop().load());
    let mut findings: Vec<Finding> = every_remedy().map(finding).collect();
    for (number, finding) in findings.iter_mut().enumerate() {
        finding.place = format!("f{number} at shop.c:{number}");
        finding.sites.clear();
        let share = 0.5 / (number + 1) as f64;
        finding.gain = Some(Gain { share, seconds: share, method: Method::Replay });
    }
    other.processes[0].findings = vec![findings[0].clone(), findings.pop().expect("some")];
    other.processes[0].findings[0].gain =
        Some(Gain { share: 0.3, seconds: 0.3, method: Method::Replay });
    one.processes[0].findings = findings;
    let whole = together(vec![other, one]).expect("recordings of one program");
    let text = terminal(&whole, Extent::Findings, Style::default());
    assert!(text.contains("2 runs, from ") && text.contains("; run 2 is shown"), "{text}");
    assert!(text.contains("saves 40.0 %"), "the mean: {text}");
    assert!(text.contains("     in 2 of 2 runs, which predict 30.0 % to 50.0 %\n"), "{text}");
    assert!(text.contains("     in 1 of 2 runs\n"), "{text}");
    let elsewhere = text.lines().find(|line| line.starts_with("  In other runs only: shop.c:7 ("));
    assert!(elsewhere.is_some_and(|line| line.ends_with(", 1 of 2)")), "{text}");
    let page = html(&whole);
    for said in ["run 2 is shown", "in 2 of 2 runs, which", "In other runs only", "f7 at shop.c:7"]
    {
        assert!(page.contains(said), "no {said}");
    }
}

/// An experiment with every field set.
fn whatif() -> WhatIf {
    let range = Range { median: 0.0, low: 0.0, high: 0.0 };
    WhatIf {
        place: String::new(),
        calls: vec![],
        delayed: Delayed::Section,
        times: 0.0,
        seconds: 0.0,
        sizes: vec![Delay { nanoseconds: 0.0, added: 0.0, longer: 0.0 }],
        rounds: 0,
        follows: Some(Follows { arrives: range, shape: Shape::Straight, bend: range }),
        failed: Some(String::new()),
        section_nanoseconds: Some(0.0),
        saves_at_most: Some(range),
        predicted: Some(0.0),
    }
}

/// A finding with every field set.
fn finding(remedy: Remedy) -> Finding {
    Finding {
        rule: Rule::TooMuchData,
        title: String::new(),
        place: String::new(),
        sites: vec![],
        locks: vec![],
        evidence: vec![Evidence { what: String::new(), value: 0.0, unit: Unit::Count }],
        advice: String::new(),
        open_question: Some(OpenQuestion { question: String::new(), command: Answer::Record }),
        remedy,
        gain: Some(Gain { share: 0.0, seconds: 0.0, method: Method::Replay }),
    }
}

fn every_remedy() -> impl Iterator<Item = Remedy> {
    let (sites, seconds_per_call) = (vec![], 0.0);
    let group = Group {
        start_function: String::new(),
        origin: String::new(),
        threads: 1,
        proposed: 1,
        work: 0.0,
        busiest: 0.0,
    };
    [
        Remedy::RemoveLock { sites: sites.clone(), seconds_per_call },
        Remedy::SplitLock { sites: sites.clone(), parts: 2.0 },
        Remedy::ShortenSections { sites: sites.clone(), to: 0.5 },
        Remedy::CheaperCalls { sites: sites.clone(), seconds_per_call, waits_left: 1.0 },
        Remedy::FewerHandOvers { sites: sites.clone(), left: 0.1 },
        Remedy::NoWaits { sites },
        Remedy::Rebalance { groups: vec![group] },
        Remedy::Unknown,
    ]
    .into_iter()
}

fn collect_fields(value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (field, value) in object {
                fields.insert(field.clone());
                collect_fields(value, fields);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect_fields(value, fields)),
        _ => {}
    }
}

fn html(analysis: &Analysis) -> String {
    let mut out = Vec::new();
    report::html(analysis, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_page_needs_nothing_but_itself() {
    let page = html(&shop().load());
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn names_cannot_become_markup() {
    let mut f = Fixture::new(&["/bin/<script>alert(1)</script>", "a&b\"'"], 1);
    let thread = f.thread("<img onerror=x>", 0..SECOND);
    f.module("/no/<b>lib</b>", 0x1000..0x9000, 0x1000, &[]);
    let stack = f.stack(&[0x1101]);
    f.row(thread, Op::MutexLock, 0x8000, stack, 10).waited(&[MS]).blocked_by(stack, 0, 1, MS);
    let page = html(&f.load());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&#39; &#39;a&amp;b&quot;&#39;"));
    assert!(!page.contains("<img") && !page.contains("<script>alert") && !page.contains("<b>lib"));
}

#[test]
fn the_elements_of_the_page_are_balanced() {
    let page = html(&shop().load());
    // Scripts contain text that looks like elements, so they are cut out.
    let mut parts = page.split("<script");
    let mut markup = parts.next().unwrap().to_owned();
    markup.extend(parts.map(|part| part.split_once("</script>").unwrap().1));
    let mut open: Vec<String> = Vec::new();
    for element in markup.split('<').skip(1) {
        let Some((tag, _)) = element.split_once('>') else { continue };
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        match tag {
            _ if ["meta", "input", "", "DOCTYPE"].contains(&name.as_str()) => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "before {element}"),
            _ if tag.ends_with('/') => {}
            _ => open.push(name),
        }
    }
    assert_eq!(open, Vec::<String>::new());
}
