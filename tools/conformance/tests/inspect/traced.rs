//! Runs programs with the inspecting library, and reads what was traced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{Outcome, inspect_library, run_limited, scratch};
use syncline_trace::{Section, Trace, trace_files};

const LIMIT: Duration = Duration::from_secs(60);

/// The results of a run with the library preloaded.
pub struct Traced {
    /// The outcome of the program.
    pub outcome: Outcome,
    /// A trace for each process.
    pub traces: Vec<Trace>,
}

/// A command that runs the program with the library preloaded. The budget is in thousandths of the
/// program's time; 0 traces everything.
pub fn preloaded(program: &Path, folder: &Path, budget: u32) -> Command {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", inspect_library()).env("SYNCLINE_TRACE", folder);
    command.env("SYNCLINE_INSPECT_BUDGET", budget.to_string());
    command.env("SYNCLINE_MAX_SIZE", (1u64 << 30).to_string());
    // This is the monotonic clock, whose rate need not be measured.
    command.env("SYNCLINE_CLOCK", syncline_recording::layout::CLOCK_MONOTONIC.to_string());
    command.env("SYNCLINE_TICKS_PER_SECOND", "1000000000");
    command.env("SYNCLINE_FILTERS", filters());
    command
}

/// The number of system-call filters that this process runs under.
fn filters() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
    line.unwrap_or("0").trim().to_owned()
}

/// Runs a program and traces all of its sections.
#[track_caller]
pub fn trace<T: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = T>) -> Traced {
    trace_with(program, arguments, 0, &[])
}

/// Like [`trace`], with a budget in thousandths and more environment variables.
#[track_caller]
pub fn trace_with<T: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = T>,
    budget: u32,
    environment: &[(&str, &str)],
) -> Traced {
    let folder = scratch();
    let mut command = preloaded(program, folder.path(), budget);
    command.args(arguments).envs(environment.iter().copied());
    let outcome = run_limited(&mut command, LIMIT);
    outcome.assert_status(0);
    let traces = read(folder.path());
    Traced { outcome, traces }
}

/// The traces in a folder.
pub fn read(folder: &Path) -> Vec<Trace> {
    let files = trace_files(folder).expect("traces");
    files.iter().map(|file| Trace::open(file).expect("a whole trace")).collect()
}

/// Sets of bytes that a section read and wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// The addresses of the bytes that were read.
    pub read: BTreeSet<u64>,
    /// The addresses of the bytes that were written.
    pub written: BTreeSet<u64>,
}

impl Set {
    /// The bytes that a section read and wrote, including those on its stack.
    pub fn of(section: &Section) -> Set {
        let mut set = Set::default();
        for word in &section.words {
            let bytes = |mask: u8| (0..8).filter(move |i| mask >> i & 1 != 0);
            set.read.extend(bytes(word.read).map(|i| word.address + i));
            set.written.extend(bytes(word.written).map(|i| word.address + i));
        }
        set
    }

    /// Checks that two sets are equal. If not, the panic's message lists the missing and the extra
    /// addresses.
    #[track_caller]
    pub fn assert_equal(&self, expected: &Set, name: &str) {
        let differences = |name: &str, got: &BTreeSet<u64>, expected: &BTreeSet<u64>| {
            let missing: Vec<_> = expected.difference(got).map(|a| format!("{a:x}")).collect();
            let extra: Vec<_> = got.difference(expected).map(|a| format!("{a:x}")).collect();
            format!("{name}: missing {missing:?}, too much {extra:?}\n")
        };
        let text = differences("read", &self.read, &expected.read)
            + &differences("written", &self.written, &expected.written);
        assert!(self == expected, "{name}:\n{text}");
    }
}

/// The sections of a trace by lock. Those of a lock are in the order in which they acquired it.
pub fn by_lock(trace: &Trace) -> BTreeMap<u64, Vec<&Section>> {
    let mut by_lock: BTreeMap<u64, Vec<&Section>> = BTreeMap::new();
    for section in &trace.sections {
        by_lock.entry(section.record.lock).or_default().push(section);
    }
    for sections in by_lock.values_mut() {
        sections.sort_by_key(|s| s.record.order);
    }
    by_lock
}
