//! Debian's programs under every lock whose waiters sleep, with 1, 4 and 32 threads for each of two
//! processors. `./x matrix` runs this test, and docs/exec.md has the results.
//!
//! If a run hangs, or differs from the run without Syncline, the test notes that and continues with
//! the other runs. It also notes the processor time of each run, relative to the run without
//! Syncline, but does not fail because of it. Processor time hardly depends on other work of the
//! machine, and it shows whether a lock collapses under load, by spinning or by switching between
//! threads.

use std::io::Write as _;
use std::panic::catch_unwind;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::programs::{memcached_answers, pbzip2_bytes, x264_bytes};
use crate::servers::{APACHE, MARIADB, ROCKSDB, answers};
use crate::{parking, replacements};

const THREADS: [usize; 3] = [2, 8, 64];
/// The number of runs with a program's own locks. All other runs are compared with the median of
/// these.
const ALONE: usize = 3;
/// The environment variable with the names of the programs to run, separated by blanks. If it isn't
/// set, all programs run.
const CHOSEN: &str = "SYNCLINE_MATRIX";
/// The environment variable with the minutes for which passes are repeated. The pass that is
/// running when this time is over is the last. If the variable isn't set, there is one pass.
const MINUTES: &str = "SYNCLINE_MATRIX_MINUTES";

/// Runs a program with a number of threads, and with the named locks or, if `None`, its own.
/// Returns the output.
type Run = fn(usize, Option<&str>) -> String;

const PROGRAMS: [(&str, Run); 6] = [
    ("memcached", memcached_answers),
    ("mariadb", |threads, locks| answers(MARIADB, threads, locks)),
    ("apache", |threads, locks| answers(APACHE, threads, locks)),
    ("rocksdb", |threads, locks| answers(ROCKSDB, threads, locks)),
    ("pbzip2", pbzip2_bytes),
    ("x264", x264_bytes),
];

/// Each lock for mutexes, paired in turn with one of the two reader-writer locks that are safe for
/// unknown programs; then the C library's own locks with spinning.
fn locks() -> Vec<String> {
    let shared = ["rw_readers", "rw_compact"];
    assert!(shared.iter().all(|s| replacements(true).iter().any(|name| name.starts_with(s))));
    let exclusive = parking(false).into_iter().enumerate();
    let pairs = exclusive.map(|(at, lock)| format!("{lock}+{}", shared[at % shared.len()]));
    pairs.chain(["libc-spin".to_owned()]).collect()
}

fn chosen() -> Vec<(&'static str, Run)> {
    let names = std::env::var(CHOSEN).unwrap_or_default();
    let unknown = names.split_whitespace().find(|name| PROGRAMS.iter().all(|(p, _)| p != name));
    assert!(unknown.is_none(), "{CHOSEN}: there is no {unknown:?}");
    let is_wanted = |program: &str| {
        names.trim().is_empty() || names.split_whitespace().any(|name| name == program)
    };
    PROGRAMS.into_iter().filter(|(program, _)| is_wanted(program)).collect()
}

/// The output of a run, and its processor time in seconds. `None` if the run failed; in that case
/// the failure has been printed.
fn timed(run: Run, threads: usize, locks: Option<&str>) -> Option<(String, f64)> {
    let before = processor_seconds();
    let came_out = catch_unwind(|| run(threads, locks)).ok()?;
    Some((came_out, processor_seconds() - before))
}

/// The processor time of all ended descendants of this process, in seconds.
fn processor_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("it is always known");
    (usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6
}

/// Runs a program [`ALONE`] times with its own locks. Returns its output, which must be the same
/// each time, and the median of the processor time in seconds. On a busy machine Apache's own
/// client once waited for its server without success, even without any of our locks. Such a failure
/// is printed and the run repeated, up to [`ALONE`] times.
fn alone(run: Run, threads: usize, mut done: impl FnMut(f64)) -> (String, f64) {
    let mut runs: Vec<(String, f64)> = Vec::new();
    let mut wrong = 0;
    while runs.len() < ALONE {
        let Some((came_out, took)) = timed(run, threads, None) else {
            wrong += 1;
            assert!(wrong <= ALONE, "it doesn't run without");
            say("it went wrong without any of our locks; once more");
            continue;
        };
        done(took);
        assert!(runs.iter().all(|(other, _)| *other == came_out), "it differs by itself");
        runs.push((came_out, took));
    }
    runs.sort_by(|a, b| a.1.total_cmp(&b.1));
    runs.swap_remove(ALONE / 2)
}

fn say(text: &str) {
    // Standard error may be closed; the test asserts the outcome.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The number of finished runs, and an estimate of the time for the rest.
struct Progress {
    started: Instant,
    done: usize,
    all: usize,
}

impl Progress {
    fn step(&mut self, what: &str) {
        self.done += 1;
        let each = self.started.elapsed().as_secs_f64() / self.done as f64;
        let left = each * (self.all - self.done) as f64 / 60.0;
        say(&format!("{:>3} of {}, {left:>3.0} min left: {what}", self.done, self.all));
    }
}

#[test]
#[ignore = "a quarter of an hour or more; ./x matrix runs it"]
fn every_program_under_every_lock() {
    let (programs, locks) = (chosen(), locks());
    let minutes = std::env::var(MINUTES).unwrap_or_default();
    let minutes: f64 = match minutes.trim() {
        "" => 0.0,
        number => number.parse().unwrap_or_else(|_| panic!("{MINUTES}: {number} is no number")),
    };
    let started = Instant::now();
    let elapsed = || started.elapsed().as_secs_f64() / 60.0;
    let (mut runs, mut failed) = (0, Vec::new());
    while runs == 0 || elapsed() < minutes {
        runs += pass(&programs, &locks, &mut failed);
        say(&format!(
            "{runs} runs in {:.0} min, {} of them not as without",
            elapsed(),
            failed.len()
        ));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs all programs once under all locks, and adds the failed runs to `failed`. Returns the number
/// of runs.
fn pass(programs: &[(&str, Run)], locks: &[String], failed: &mut Vec<String>) -> usize {
    let all = programs.len() * THREADS.len() * (ALONE + locks.len());
    let mut progress = Progress { started: Instant::now(), done: 0, all };
    // The cells of the table, by lock, then by program.
    let mut cells = vec![Vec::new(); locks.len()];
    for (program, run) in programs {
        let mut column = vec![Vec::new(); locks.len()];
        for threads in THREADS {
            let (expected, alone) = alone(*run, threads, |took| {
                progress.step(&format!("{program}, {threads} threads, its own: {took:.1} s"));
            });
            for (lock, cell) in locks.iter().zip(&mut column) {
                let came_out = timed(*run, threads, Some(lock));
                let (said, shown) = match came_out {
                    Some((outcome, took)) if outcome == expected => {
                        (format!("as without, {took:.1} s"), format!("{:.1}", took / alone))
                    }
                    Some((outcome, _)) => (format!("DIFFERS:\n{outcome}"), "DIFFERS".to_owned()),
                    None => ("FAILED".to_owned(), "FAILED".to_owned()),
                };
                let what = format!("{program}, {threads} threads, {lock}: {said}");
                progress.step(&what);
                if !said.starts_with("as") {
                    failed.push(what);
                }
                cell.push(shown);
            }
        }
        let shown = column.into_iter().map(|cell: Vec<String>| cell.join(", "));
        cells.iter_mut().zip(shown).for_each(|(row, cell)| row.push(cell));
    }
    say(&table(programs, locks, &cells));
    all
}

/// The table in docs/exec.md: processor time relative to the run without Syncline, for each number
/// of threads.
fn table(programs: &[(&str, Run)], locks: &[String], cells: &[Vec<String>]) -> String {
    let names: Vec<&str> = programs.iter().map(|(program, _)| *program).collect();
    let mut text = format!("\n| locks | {} |\n", names.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(names.len()));
    for (lock, row) in locks.iter().zip(cells) {
        text += &format!("| {lock} | {} |\n", row.join(" | "));
    }
    text
}
