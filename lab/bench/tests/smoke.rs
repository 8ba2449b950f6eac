//! Runs every benchmark at its smallest size, so that a broken one is noticed.
//!
//! Checks that each benchmark ends with success, and that its last line has the fields that other
//! programs rely on, each with a number. It does not check times: at this size they mean nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use serde_json::Value;

/// The names of the benchmarks, each with the fields of its last line.
const BENCHMARKS: &[(&str, &[&str])] = &[
    (
        "record-overhead",
        &[
            "pair_added_ns",
            "grid_ratio",
            "shapes_ratio",
            "shapes_worst",
            "programs_ratio",
            "memory_ratio",
        ],
    ),
    ("attach", &["stop_ms", "attached_ratio", "after_ratio"]),
    ("inspect-overhead", &["full_ratio", "budget_ratio", "lackey_ratio"]),
    ("exec-overhead", &["exec_ratio", "bytes_per_lock"]),
    ("tune", &["workloads", "found", "gain_error_median"]),
    (
        "locks",
        &[
            "uncontended_worst_ratio",
            "contended_best_ratio",
            "oversubscribed_best_ratio",
            "oversubscribed_worst_ratio",
        ],
    ),
    ("stm", &["worst_ratio"]),
    ("channels", &["one_way_transfers", "throughput_ratio", "many_ratio"]),
    ("simulator", &["accesses_per_second"]),
    ("table", &["paper_mix_ratio", "standard_worst_ratio"]),
    (
        "dsm",
        &[
            "miss_ratio",
            "upgrade_ratio",
            "barrier_ratio",
            "clean_barrier_us_per_page",
            "line_bandwidth_ratio",
            "delegation_ratio",
            "programs_worst_ratio",
            "unmodified_worst_ratio",
            "unmodified_pair_us",
            "tcp_miss_ratio",
            "tcp_line_miss_ratio",
            "tcp_barrier_ratio",
            "placed_ratio",
        ],
    ),
    (
        "windows",
        &[
            "empty_worst_ratio",
            "allocated_worst_ratio",
            "created_worst_ratio",
            "sm_worst_ratio",
            "starved",
        ],
    ),
    ("dht", &["plain_ratio", "coarse_ratio", "host_table_ratio"]),
];

#[test]
fn every_benchmark_runs_and_ends_with_its_fields() {
    let next = AtomicUsize::new(0);
    // Relaxed: the number only says which benchmark comes next, and no other data depends on it.
    let take = || BENCHMARKS.iter().rev().nth(next.fetch_add(1, Relaxed));
    let run_some = || {
        while let Some((name, fields)) = take() {
            let lines = output_of(&[name, "--smoke"]);
            require_fields(&lines, fields);
            // The operations that a program has counted itself must be those that were recorded.
            assert!(!lines.contains("MISCOUNTED"), "{lines}");
        }
    };
    // Three benchmarks run at a time, since many of them wait or use only one processor. The list
    // is run from its end, because a benchmark there takes long and would otherwise run alone at
    // the end.
    thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(run_some)));
}

#[test]
fn user_described_programs_and_peers_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    for (name, status) in [("shop", 0), ("till", 3)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let text =
            format!("version = '1'\nstatus = {status}\ncommand = ['sh', '-c', 'exit {status}']\n");
        fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
    }
    let programs = folder.path().to_str().unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_syncline-bench")).parent().unwrap();
    let peer = format!("peer={}", built.join("libsyncline_recorder.so").display());
    let lines = output_of(&["record-overhead", "--smoke", "--programs", programs, "--peer", &peer]);
    let fields = ["programs", "wall_ratio", "wall_worst", "cpu_ratio", "cpu_worst"];
    require_fields(&lines, &[&fields[..], &["memory_ratio", "memory_worst"]].concat());
    for row in ["shop, recording MiB", "till, wall s", "till, peer, wall s", "geometric mean, peer"]
    {
        assert!(lines.contains(row), "{row} in {lines}");
    }
}

/// The folder describes four programs: one with a problem, the same one with a wrong position in
/// its description, one that hangs, and one that can't be run.
#[test]
fn reports_on_user_described_programs_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path();
    let compile = |name: &str, source: &str| {
        fs::create_dir(programs.join(name)).unwrap();
        let file = programs.join(name).join("main.c");
        fs::write(&file, source).unwrap();
        let compiled = Command::new("gcc")
            .args(["-O1", "-g", "-pthread", "-o"])
            .args([&programs.join(name).join("main"), &file])
            .status()
            .unwrap();
        assert!(compiled.success(), "{name}");
    };
    let describe = |name: &str, text: &str| {
        let text = format!("version = '1'\n{text}\n");
        fs::write(programs.join(format!("{name}.toml")), text).unwrap();
    };
    let sleeps = "#include <pthread.h>\n#include <unistd.h>\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        static void *write_slowly(void *a) { for (int i = 0; i < 40; i++) {\n\
        pthread_mutex_lock(&lock); usleep(3000); pthread_mutex_unlock(&lock); }\n\
        return a; }\n\
        int main(void) { pthread_t threads[3];\n\
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, write_slowly, 0);\n\
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0); return 0; }\n";
    compile("journal", sleeps);
    let right = "command = ['./main']\nplace = 'main\\.c:5'\nremedy = 'sleeping-holder'";
    describe("journal", right);
    compile("elsewhere", sleeps);
    describe("elsewhere", &right.replace(":5", ":9"));
    compile(
        "itself",
        "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        int main(void) { pthread_mutex_lock(&lock); return pthread_mutex_lock(&lock); }\n",
    );
    describe(
        "itself",
        "status = 124\ncommand = ['timeout', '3', './main']\nplace = 'main\\.c:3'\nremedy = 'deadlock'",
    );
    fs::create_dir(programs.join("missing")).unwrap();
    describe("missing", "command = ['./none']");
    let arguments = ["accuracy", "--smoke", "--programs", programs.to_str().unwrap()];
    let output = run(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "one can't be run");
    assert!(errors.contains("missing is not in the figures"), "{errors}");
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(errors.contains("\"problems\":3,\"found_first_two\":2"), "{errors}{lines}");
    for name in ["journal", "elsewhere", "itself", "missing"] {
        assert!(lines.contains(&format!("  {name}")), "{lines}");
    }
}

#[test]
fn a_simulation_of_this_machine_is_compared_with_it() {
    let lines = output_of(&["simulator", "--compare", "--smoke"]);
    let fields = ["error_percent", "within_30_percent", "ladder_error_percent"];
    require_fields(&lines, &[&fields[..], &["tests", "unsteady"]].concat());
    assert!(lines.contains("alone: swap, then store"), "{lines}");
}

/// Requires that the last line has these fields, each with a number, and the commit, but no other
/// fields.
fn require_fields(lines: &str, fields: &[&str]) {
    let last = lines.lines().last().expect("it prints something");
    let summary: Value = serde_json::from_str(last).expect(last);
    assert_eq!(summary.as_object().map(|o| o.len()), Some(fields.len() + 1), "{last}");
    assert_eq!(summary["commit"], "abc-dirty", "{last}");
    assert!(lines.starts_with("Commit abc, with changes"), "{lines}");
    for field in fields {
        assert!(summary[field].as_f64().is_some_and(f64::is_finite), "{field} in {last}");
    }
}

#[test]
fn the_list_names_every_benchmark_tested_here() {
    let lines = output_of(&["list"]);
    let listed: Vec<_> = lines.lines().filter_map(|l| l.split_whitespace().next()).collect();
    let tested: Vec<_> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, tested);
}

/// The output of the benchmarks with these arguments. They must succeed.
fn output_of(arguments: &[&str]) -> String {
    let output = run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syncline-bench"))
        .args(arguments)
        .env("SYNCLINE_COMMIT", "abc-dirty")
        .output()
        .unwrap()
}
