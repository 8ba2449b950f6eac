//! The reports of `syncline inspect` on locks whose sections are known. The program has one lock
//! for each of several kinds of advice, and another lock whose sections print.

mod agree;
mod ended;
mod findings;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;
use syncline_conformance::{Outcome, Program, inspect_library, run_limited, scratch, syncline};

/// The longest run on a loaded machine, with every section traced.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(120);

/// The most runs of a test that needs waits. In a single short run it is random whether threads
/// wait, but in 12 runs they do at least once.
const RUNS: usize = 12;

fn inspect(folder: &Path, words: &[&str]) -> Outcome {
    inspect_library();
    let mut command = Command::new(syncline());
    command.arg("inspect").args(words).current_dir(folder);
    run_limited(&mut command, LONGEST)
}

fn program() -> String {
    Program::compile("inspected.c").path().to_str().expect("a path").to_owned()
}

/// The position, as `inspected.c:LINE`, of the program's line with this mark.
fn line(mark: &str) -> String {
    let source = include_str!("../../programs/inspected.c");
    let number = source.lines().position(|line| line.contains(&format!("/* {mark} */")));
    format!("inspected.c:{}", number.expect("a mark") + 1)
}

/// The report on one run of the program with every section traced. Several tests share it.
fn report() -> &'static Value {
    static REPORT: OnceLock<Value> = OnceLock::new();
    REPORT.get_or_init(|| {
        let folder = scratch();
        let run = inspect(folder.path(), &["--budget", "0", "--trace-only", "--", &program()]);
        run.assert_status(0);
        // Two changes in each of 600 rounds of four threads.
        assert_eq!(text(&run.stdout), "4800\n", "the program's output is its own");
        let run = inspect(folder.path(), &["--json", "--read", "syncline-trace"]);
        run.assert_status(0);
        let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        assert_eq!(report["schema"], "syncline-inspect/1");
        report["processes"][0].clone()
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lock(name: &str) -> &'static Value {
    let locks = report()["locks"].as_array().expect("locks");
    let named = |lock: &&Value| lock["name"].as_str().is_some_and(|n| n.starts_with(name));
    locks.iter().find(named).unwrap_or_else(|| panic!("no {name} in {locks:#?}"))
}

fn advice(lock: &Value) -> &str {
    lock["advice"][0]["what"].as_str().expect("an advice")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn a_table_under_one_lock_is_64_pieces_and_to_be_sharded() {
    let lock = lock("table_lock");
    assert_eq!((&lock["acquisitions"], &lock["traced"]), (&2400.into(), &2400.into()));
    assert_eq!(lock["threads"], 4);
    assert_eq!(lock["pieces"], 64, "{lock:#}");
    assert_eq!(advice(lock), "shard");
    // Two threads access the same one of 64 random entries with probability 1 / 64. The bounds
    // allow for randomness.
    let conflicting = number(&lock["window"]["conflicting"]);
    assert!((0.01..0.025).contains(&conflicting), "{conflicting}");
    // Each section accesses an entry's two words, and the word with the table's address. In one
    // section the loader looks up a function, for which the program's own code reads two more
    // words.
    let site = &lock["sites"][0];
    assert_eq!(number(&site["words_written"]), 2.0, "{site:#}");
    assert!((3.0..=3.0 + 2.0 / 2400.0).contains(&number(&site["words"])), "{site:#}");
    assert!((24.0..=24.0 + 16.0 / 2400.0).contains(&number(&site["bytes"])), "{site:#}");
}

#[test]
fn a_shared_counter_beside_the_table_is_to_be_split_off() {
    let lock = lock("counted_lock");
    assert_eq!(number(&lock["window"]["conflicting"]), 1.0);
    assert_eq!(lock["pieces"], 1);
    assert_eq!(lock["pieces_without_first_cause"], 64);
    assert_eq!(advice(lock), "split_field");
    let cause = &lock["causes"][0];
    let field = cause["field"].as_str().expect("a field");
    assert!(field.starts_with("all_changes"), "{cause:#}");
    assert_eq!(number(&cause["share"]), 1.0);
    let written = cause["written_at"].as_str().expect("a line");
    assert!(written.contains(&line("COUNTER")), "{written}");
    // The other causes are the entries, which are named by the line that allocated them.
    let field = lock["causes"][1]["field"].as_str().expect("a field");
    assert!(field.contains("of blocks of 64 bytes") && field.contains(&line("COUNTED")), "{field}");
}

#[test]
fn data_of_one_thread_needs_no_lock() {
    let lock = lock("local_lock");
    assert_eq!(number(&lock["window"]["conflicting"]), 0.0);
    assert_eq!(advice(lock), "nothing_shared", "{lock:#}");
    assert_eq!(number(&lock["sites"][0]["words_shared"]), 0.0);
}

#[test]
fn a_long_section_names_the_lines_that_touch_nothing_shared() {
    let lock = lock("long_lock");
    let site = &lock["sites"][0];
    let instructions = number(&site["instructions"]["mean"]);
    assert!((10_000.0..40_000.0).contains(&instructions), "{instructions}");
    assert!(number(&site["shared_share"]) < 0.01);
    let lines: Vec<&str> = site["unshared_lines"]
        .as_array()
        .expect("lines")
        .iter()
        .map(|line| line["place"].as_str().expect("a place"))
        .collect();
    assert!(lines.iter().take(4).any(|place| place.contains(&line("LONG"))), "{lines:?}");
    let said = lock["advice"].as_array().expect("advice");
    assert!(said.iter().any(|advice| advice["what"] == "shorten"), "{said:#?}");
}

#[test]
fn output_in_a_section_is_marked() {
    let lock = lock("printing_lock");
    let site = &lock["sites"][0];
    assert_eq!(site["doing_io"], site["traced"]);
    assert_eq!(site["system_calls"][0][0], "write");
    assert_eq!(lock["advice"][0]["io"], true);
}

#[test]
fn the_mean_over_all_locks_is_in_json_and_text() {
    let report = report();
    let mean = number(&report["independence"]);
    assert!((0.0..=1.0).contains(&mean));
    let busy = number(&report["processors_busy_of_15"]);
    assert!((busy - (1.0 + 14.0 * mean)).abs() < 1e-9);

    let folder = scratch();
    let run =
        inspect(folder.path(), &["--lock", "counted_lock", "--budget", "0", "--", &program()]);
    run.assert_status(0);
    let text = text(&run.stdout);
    assert!(text.starts_with("4800\n"), "the program's own output is not there:\n{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in ["split all_changes", "guards 64 separate pieces", "held longest (window 128)"] {
        assert!(words.contains(said), "no {said:?} in\n{text}");
    }
    // On a busy machine, threads also wait for the locks that were not selected. A sentence of the
    // report then names the lock with the longest wait.
    let of_locks = words.replace("longest for table_lock", "");
    assert!(!of_locks.contains("table_lock"), "another lock than the one that was named:\n{text}");
    let long = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(long, None, "wider than a terminal");
}

/// The paper's Figure 1 and Table 1: of the three sections of a round, the first and the second are
/// independent. Both conflict with the third on the root's left pointer, which the third writes.
/// Each section also conflicts with itself in another round.
#[test]
fn the_papers_tree_conflicts_on_the_roots_pointer() {
    const POINTER: &str = "0x10001032";
    let folder = scratch();
    let tree = Program::compile("inspect_tree.c").path().to_str().expect("a path").to_owned();
    inspect(folder.path(), &["--budget", "0", "--trace-only", "--", &tree]).assert_status(0);
    let run = inspect(folder.path(), &["--json", "--read", "syncline-trace"]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let locks = report["processes"][0]["locks"].as_array().expect("locks");
    let lock = locks.iter().find(|lock| lock["traced"] == 9).expect("three rounds of three");
    // 9 of 36 pairs consist of a first and a second section.
    assert_eq!(lock["window"]["pairs"], 36);
    assert_eq!(number(&lock["window"]["conflicting"]), 27.0 / 36.0);
    assert_eq!(lock["pieces"], 1);
    let cause = &lock["causes"][0];
    assert_eq!(cause["field"], POINTER, "{cause:#}");
    // The cause is in 18 pairs of a third section with another section, and in 3 pairs of third
    // sections. The other 6 conflicting pairs are pairs of first sections and pairs of second
    // sections.
    assert_eq!(number(&cause["share"]), 21.0 / 27.0);
    let elsewhere = "memory outside of variables and blocks";
    let data = lock["data"].as_array().expect("data");
    assert!(data.iter().any(|data| data["what"] == elsewhere), "the mapped tree: {data:#?}");
}

/// A raw address helps no user, so a word on `main`'s stack has the name of `main`'s variable.
#[test]
fn data_on_a_stack_is_named_by_its_frame_and_variable() {
    let folder = scratch();
    let program = Program::compile("inspect_stack.c").path().to_str().expect("a path").to_owned();
    inspect(folder.path(), &["--budget", "0", "--trace-only", "--", &program]).assert_status(0);
    let run = inspect(folder.path(), &["--json", "--read", "syncline-trace"]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let locks = report["processes"][0]["locks"].as_array().expect("locks");
    let causes = locks.iter().flat_map(|lock| lock["causes"].as_array().expect("causes"));
    let fields: Vec<&str> = causes.filter_map(|cause| cause["field"].as_str()).collect();
    for expected in ["sums+0x8 on the stack of main", "elements+0x28 on the stack of with_elements"]
    {
        assert!(fields.iter().any(|field| field.starts_with(expected)), "{expected}: {fields:?}");
    }
}

/// The report says how many locks had no section traced. The command's status says how the program
/// ended.
#[test]
fn untraced_locks_are_reported() {
    let folder = scratch();
    let run = inspect(folder.path(), &["--lock", "table_lock", "--", &program()]);
    run.assert_status(0);
    let said = text(&run.stdout);
    assert!(
        said.contains("4 more locks, with ") && said.contains(" had no section traced"),
        "{said}"
    );
    // A program without locks, and one that is killed.
    let run = inspect(folder.path(), &["--", "true"]);
    assert!(text(&run.stdout).contains("it acquired no lock through the C library"));
    let run = inspect(folder.path(), &["--budget", "0", "--", "sh", "-c", "kill -9 $$"]);
    run.assert_status(128 + 9);
    // If one of several files can't be read, the report has the others; if the only file can't be
    // read, that is an error.
    let trace = folder.path().join("syncline-trace");
    fs::write(trace.join("1.trace"), "cut").expect("a file");
    let run = inspect(folder.path(), &["--read", "syncline-trace"]);
    run.assert_status(0);
    assert!(text(&run.stderr).contains("left out: "), "{}", text(&run.stderr));
    let run = inspect(folder.path(), &["--read", "syncline-trace/1.trace"]);
    run.assert_status(1);
}

/// The report says what inspecting cost, and that a budget of a thousandth of the time could not be
/// kept.
#[test]
fn an_exceeded_budget_is_reported() {
    let folder = scratch();
    let said = |budget: &str| {
        let run = inspect(folder.path(), &["--budget", budget, "--", &program()]);
        run.assert_status(0);
        text(&run.stdout)
    };
    for (budget, kept) in [("0.1", false), ("0", true)] {
        let text = said(budget);
        assert!(text.contains("  inspecting took "), "{text}");
        let complaint = "the budget of 0.1 % could not be kept";
        assert_eq!(text.contains(complaint), !kept, "{text}");
    }
    assert_eq!(report()["budget"], serde_json::Value::Null, "all was traced");
    // Threads wait for `long_lock`, and for little else unless other programs use the processors. A
    // budget of a thousandth allows tracing only a few of this lock's sections.
    let too_few = |budget: &str| said(budget).contains("  too few sections of ");
    assert!((0..RUNS).any(|_| too_few("0.1")), "in {RUNS} runs");
    assert!(!too_few("0"));
}

#[test]
fn errors_say_what_to_do() {
    let folder = scratch();
    let program = program();
    for (words, status, said) in [
        (
            &["--site", "no_such_place", "--", &program][..],
            125,
            "no lock and no call site of this name",
        ),
        (&["--from", "none", "--", &program], 125, "`syncline record -- PROGRAM`"),
        (&["--read", "none"], 1, "`syncline inspect -- PROGRAM` makes a trace"),
        (&["--", "./no-such-program"], 127, "can't find"),
        (&["--trace-only", "--", "false"], 1, "syncline: traced"),
    ] {
        let run = inspect(folder.path(), words);
        run.assert_status(status);
        let errors = text(&run.stderr);
        assert!(errors.contains(said), "{words:?}: {errors}");
    }
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    inspect(folder.path(), &["--read", "empty"]).assert_status(1);
}
