//! Tests of `syncline-foreign`, which runs other projects' test suites with and without Syncline
//! and compares the runs. Here the suite consists of programs whose right verdicts are known.
//! `syncline-foreign` must end processes that the programs leave behind.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use syncline_conformance::{Program, preload_library, replace_library, scratch};

/// The programs of the suite; `programs/foreign.c` says what each does.
const NAMES: [&str; 8] =
    ["fails", "hangs", "crashes", "leaves", "unstable", "prints", "counts", "nested/plain"];

fn compare(suite: &Path, options: &[&str]) -> (Output, Value) {
    preload_library();
    replace_library();
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncline-foreign"));
    command.arg(suite).args(["--ways", "record,exec:gate", "--least-limit", "1"]).args(options);
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_else(|| panic!("{output:?}"));
    let summary = serde_json::from_str(last).unwrap_or_else(|_| panic!("{text}"));
    (output, summary)
}

#[test]
fn each_program_gets_its_verdict() {
    let program = Program::compile("foreign.c");
    let folder = scratch();
    let suite = folder.path().join("suite");
    fs::create_dir_all(suite.join("nested")).expect("a folder");
    for name in NAMES {
        fs::copy(program.path(), suite.join(name)).expect("a program");
    }
    for file in ["left", "runs", "libnone.so"] {
        fs::write(suite.join(file), "").expect("a file");
    }
    let expected = folder.path().join("expected.txt");
    fs::write(&expected, "suite/prints | * | it looks\nplain | record | it did\n").expect("a file");
    let options = ["--expected", expected.to_str().expect("plain characters"), "--jobs", "4"];

    let (output, summary) = compare(&suite, &options);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let counts = json!({
        "programs": 8, "ways": 2, "unexpected": 4, "no_longer": 1,
        // Each program counts twice, once for each way. Same: `crashes`, `leaves`, `counts` (its
        // output differs in each run), and `plain`. Differ: `fails` and `prints`. One program
        // hangs, and one is unstable.
        "same": 8, "differ": 4, "hang": 2, "expected": 2, "unstable": 2,
    });
    assert_eq!(summary, counts, "{text}");
    for row in
        ["| suite | record | 4 | 2 | 1 | 1 | 1 |", "| suite | exec:gate | 4 | 2 | 1 | 1 | 1 |"]
    {
        assert!(text.contains(row), "{row}\n{text}");
    }
    let both = " [record exec:gate]";
    for sentence in [
        &format!("  suite/fails: natively status 0, here status 3 {both}"),
        &format!("  suite/hangs: natively status 0, here hangs {both}"),
        &format!("  suite/prints: it looks {both}"),
        "  plain | record | it did",
        "  suite/unstable\n",
    ] {
        assert!(text.contains(sentence), "{sentence}\n{text}");
    }
    let left = fs::read_to_string(suite.join("left")).expect("numbers of processes");
    assert!(left.lines().count() >= 4, "natively twice, and in two ways: {left}");
    for process in left.lines() {
        assert!(!Path::new("/proc").join(process).exists(), "{process} is left behind");
    }

    let (output, _) = compare(&suite, &[&options[..], &["--only", "plain"]].concat());
    assert!(output.status.success(), "{output:?}");
}
