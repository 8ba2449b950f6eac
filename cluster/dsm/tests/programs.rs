//! The C programs of workloads/dsm, on ranks that are processes. Each program verifies what it
//! computes. The programs run under every scheme, fault side, size of the write buffer, number of
//! ranks, and number of machines that the ranks are on. All machines are this one, but ranks of
//! different machines share no memory: they reach each other over TCP.
//!
//! By default a program runs in a dozen settings, in which every value of every option occurs; the
//! NAS programs run in three or four. `SYNCLINE_DSM_PROGRAMS=all` runs all combinations of fault
//! side, scheme, write buffer and number of ranks, which takes more than half an hour.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use syncline_dsm::carina::Scheme;
use syncline_dsm::homes::Placement;
use syncline_dsm::pages::Side;
use syncline_dsm::program::Options;
use syncline_fabric::Host;
use syncline_fabric::machines::{Job, pretend};

const SCHEMES: [Scheme; 3] = [Scheme::Shared, Scheme::Private, Scheme::Writers];
const BUFFERS: [Option<usize>; 4] = [None, Some(1), Some(7), Some(64)];
/// Numbers of ranks, each with the number of threads in a rank.
const RANKS: [(usize, usize); 6] = [(1, 2), (2, 1), (2, 2), (3, 1), (4, 2), (8, 1)];
/// Numbers of machines. There are not more machines than ranks.
const MACHINES: [usize; 4] = [1, 2, 1, 3];
const LINES: [usize; 3] = [1, 4, 16];
/// The most pages that a rank caches. [`settings`] makes that at least eight lines, since the
/// programs go through six arrays at once.
const CACHES: [Option<usize>; 3] = [None, None, Some(48)];

/// A program that takes longer than this counts as stuck.
const LATE: Duration = Duration::from_secs(120);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/dsm")
}

/// The folder with the libraries that were built together with this test.
fn libraries() -> PathBuf {
    env::current_exe().expect("this program").parent().expect("its folder").to_owned()
}

fn compile(name: &str, into: &Path, plain: bool) -> PathBuf {
    let program = into.join(name);
    build(&folder().join(name).with_extension("c"), &program, plain);
    program
}

fn build(source: &Path, program: &Path, plain: bool) {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(program).arg(source);
    if plain {
        compiler.args(["-DPLAIN", "-lpthread"]);
    } else {
        let libraries = libraries();
        compiler.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
        compiler.arg("-L").arg(&libraries).arg("-lsyncline_dsm");
        compiler.arg(format!("-Wl,-rpath,{}", libraries.display()));
    }
    let output = compiler.arg("-lm").output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a program on ranks, all of which must succeed.
fn run(program: &Path, setting: &Setting, arguments: &[&str]) {
    let Setting { ranks, threads, machines, options } = setting;
    let bytes = options.shape(*ranks).layout().bytes;
    let command = || {
        let mut command = Command::new(program);
        command.arg(threads.to_string()).args(arguments).envs(options.variables());
        command.stdout(std::process::Stdio::null());
        command
    };
    let what = format!("{program:?} {arguments:?}, {setting:?}");
    if *machines == 1 {
        let mut job = Host::launch(*ranks, bytes, |_| command()).expect("ranks start");
        return all_succeed(*ranks, |rank| job.ended(rank).expect("it ends"), &what);
    }
    let of_machines: Vec<usize> =
        (0..*machines).map(|number| (ranks + number) / machines).collect();
    let act = |job: &Job| all_succeed(*ranks, |rank| job.ended(rank).expect("an agent"), &what);
    pretend(&of_machines, bytes, |_| command(), act).expect("ranks start");
}

fn all_succeed(ranks: usize, mut ended: impl FnMut(usize) -> Option<ExitStatus>, what: &str) {
    let start = Instant::now();
    loop {
        let all: Vec<_> = (0..ranks).map(&mut ended).collect();
        let wrong = all.iter().flatten().any(|status| !status.success());
        assert!(!wrong && start.elapsed() < LATE, "{what}: {all:?}");
        if all.iter().all(Option::is_some) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// How many ranks, threads in each of them, and machines there are, and the options.
#[derive(Clone, Debug)]
struct Setting {
    ranks: usize,
    threads: usize,
    machines: usize,
    options: Options,
}

/// All settings, or this many of them for the short run.
fn settings(runs: usize) -> Vec<Setting> {
    let mut all = Vec::new();
    for side in Side::ALL {
        for scheme in SCHEMES {
            for write_buffer in BUFFERS {
                for (ranks, threads) in RANKS {
                    let number = all.len();
                    let placement = Placement::ALL[number % 3];
                    let line = LINES[number / 2 % LINES.len()];
                    let cache =
                        CACHES[number / 5 % CACHES.len()].map(|pages| pages.max(8 * line) * 4096);
                    let machines = MACHINES[number / 3 % MACHINES.len()].min(ranks);
                    let (memory, side) = (8 << 20, Some(side));
                    let options = Options {
                        memory,
                        line,
                        cache,
                        write_buffer,
                        scheme,
                        placement,
                        side,
                        counts: false,
                        check: false,
                        own: 0,
                    };
                    all.push(Setting { ranks, threads, machines, options });
                }
            }
        }
    }
    if env::var("SYNCLINE_DSM_PROGRAMS").is_ok_and(|value| value == "all") {
        return all;
    }
    // With this step, twelve runs have every value of every option; a test below checks that.
    (0..runs).map(|run| all[run * 179 % all.len()].clone()).collect()
}

fn verified(name: &str, runs: usize, arguments: &[&str]) {
    let scratch = tempfile::tempdir().expect("a folder");
    let program = compile(name, scratch.path(), false);
    let all = settings(runs);
    for setting in all {
        run(&program, &setting, arguments);
    }
    let beside = tempfile::tempdir_in(scratch.path()).expect("a folder");
    let plain = compile(name, beside.path(), true);
    let output = Command::new(plain).arg("2").args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{name} on pthreads: {output:?}");
}

#[test]
fn the_short_run_has_every_value_of_every_setting() {
    let all = settings(12);
    let has = |test: &dyn Fn(&Setting) -> bool| all.iter().any(test);
    assert!(Side::ALL.iter().all(|side| has(&|one| one.options.side == Some(*side))));
    assert!(SCHEMES.iter().all(|scheme| has(&|one| one.options.scheme == *scheme)));
    assert!(BUFFERS.iter().all(|buffer| has(&|one| one.options.write_buffer == *buffer)));
    assert!(RANKS.iter().all(|ranks| has(&|one| (one.ranks, one.threads) == *ranks)));
    assert!(MACHINES.iter().all(|machines| has(&|one| one.machines == *machines)));
    assert!(LINES.iter().all(|line| has(&|one| one.options.line == *line)));
    assert!(Placement::ALL.iter().all(|placement| has(&|one| one.options.placement == *placement)));
    assert!(has(&|one| one.options.cache.is_some()));
}

#[test]
fn matrix_multiplication() {
    verified("matmul", 12, &["96"]);
}

#[test]
fn lu() {
    verified("lu", 12, &["128"]);
}

#[test]
fn n_body() {
    verified("nbody", 12, &["256", "3"]);
}

#[test]
fn heat() {
    verified("heat", 12, &["64", "5", "placed"]);
}

#[test]
fn blackscholes() {
    verified("blackscholes", 12, &["3000", "2"]);
}

#[test]
fn nas_ep() {
    verified("ep", 3, &["S"]);
}

#[test]
fn nas_cg() {
    verified("cg", 4, &["S"]);
}

#[test]
fn a_priority_queue_under_the_cohort_lock() {
    verified("queue", 12, &["60", "lock"]);
}

#[test]
fn a_priority_queue_under_delegation() {
    verified("queue", 12, &["60", "with"]);
}

#[test]
fn the_books_example_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dsm.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let (_, rest) = page.split_once("```c\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("book.c"), folder.path().join("book"));
    std::fs::write(&source, example).expect("a program");
    build(&source, &program, false);
    // `syncline cluster` has not started the program, so it is the only rank.
    let output = Command::new(&program).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "998001\n");
}
