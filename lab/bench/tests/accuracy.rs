//! Records every program of `workloads/` at its smallest size: each problem is found by the right
//! rule at the right line, and there are no false alarms about programs without a problem.
//!
//! The test is alone in its file so that no other test runs at the same time, since contention
//! needs two processors. The test does not judge times. But timing decides whether threads contend
//! for a lock. If another program, or another machine on the same processor, preempts a thread, the
//! preemption may hide a problem or create one. So after a wrong verdict all programs run again. A
//! verdict that is wrong twice is a defect; `./x accuracy` counts verdicts that are sometimes
//! wrong. If other processes visibly use the processors, a few verdicts may be wrong twice.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

/// The most verdicts that may be wrong twice on a machine with other work.
const WRONG_AT_MOST: usize = 2;
/// The most verdicts that may be wrong in one run of all programs. More can't be random.
const WRONG_ONCE_AT_MOST: usize = 6;
/// The number of problems that are not seen in stripped programs, for three reasons. Without names,
/// nothing shows that a variable is next to a lock. Two sides of a queue that were inlined into one
/// function look like one side. Sections that were inlined into one function look like one
/// function's too, and the report recommends merging them.
const UNSEEN_STRIPPED: u64 = 3;
/// The machine has other work if other processes take at least this share of the processors' time.
const OTHER_WORK: f64 = 0.1;

#[test]
fn problems_are_found_without_false_alarms() {
    let first = accuracy();
    if first.wrong.is_empty() {
        return;
    }
    let second = accuracy();
    let twice: Vec<&String> = first.wrong.intersection(&second.wrong).collect();
    let busy = first.is_busy || second.is_busy;
    let mut right = twice.len() <= if busy { WRONG_AT_MOST } else { 0 };
    right &= [&first, &second].iter().all(|run| run.wrong.len() <= WRONG_ONCE_AT_MOST);
    let tables = [first.tables, second.tables].concat();
    assert!(right, "wrong twice, with other work {busy}: {twice:?}\n{tables}");
}

/// The outcome for all programs.
struct Accuracy {
    /// The problems that were not found, and the variants without a problem with a false alarm.
    wrong: BTreeSet<String>,
    /// Whether other processes used the processors during the run.
    is_busy: bool,
    tables: String,
}

fn accuracy() -> Accuracy {
    let before = Ticks::now();
    let benchmarks = env!("CARGO_BIN_EXE_syncline-bench");
    let output = Command::new(benchmarks).args(["accuracy", "--quick"]).output().unwrap();
    let others = Ticks::now().taken_by_others_since(&before);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let tables = String::from_utf8(output.stdout).unwrap();
    let last = tables.lines().last().expect("it prints something");
    let summary: Value = serde_json::from_str(last).expect(last);
    let count = |field: &str| summary[field].as_u64().expect(last);
    assert!(count("problems") >= 20, "{last}");
    let seen_stripped = count("found_stripped") + UNSEEN_STRIPPED + WRONG_AT_MOST as u64;
    assert!(seen_stripped >= count("problems"), "{tables}");
    let wrong = summary["wrong"].as_array().expect(last).iter();
    let wrong = wrong.map(|name| name.as_str().expect(last).to_owned()).collect();
    Accuracy { wrong, is_busy: others >= OTHER_WORK, tables }
}

/// The processor time up to now, in the kernel's ticks.
struct Ticks {
    /// The time of all processors.
    all: u64,
    /// The part of that time that was idle, including waits for a disk.
    idle: u64,
    /// The time of the ended programs that this process had started.
    ours: u64,
}

impl Ticks {
    fn now() -> Ticks {
        let numbers = |line: &str| -> Vec<u64> {
            line.split_whitespace().map(|number| number.parse().unwrap_or(0)).collect()
        };
        // The first line is the sum over all processors: "cpu", user, nice, system, idle, waiting
        // for a disk, ...
        let stat = fs::read_to_string("/proc/stat").unwrap();
        let sum = numbers(stat.lines().next().unwrap().trim_start_matches("cpu"));
        // After the name in brackets, the fields continue with the third. The 16th and 17th are the
        // time of children, in user and in system mode.
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let own = numbers(own.rsplit_once(')').unwrap().1);
        // The guests' time, the ninth field, is already included in the users' time.
        Ticks { all: sum[..8].iter().sum(), idle: sum[3] + sum[4], ours: own[13] + own[14] }
    }

    /// The share of all processors' time that other processes took.
    fn taken_by_others_since(&self, before: &Ticks) -> f64 {
        let busy = (self.all - self.idle) - (before.all - before.idle);
        let ours = self.ours - before.ours;
        busy.saturating_sub(ours) as f64 / (self.all - before.all).max(1) as f64
    }
}
