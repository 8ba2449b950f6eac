//! `syncline tune`, on a program whose best lock is known, and `syncline try` with settings other
//! than locks, and with a load.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use syncline_conformance::{
    Program, preload_library, replace_library, run_limited, scratch, syncline,
};

fn syncline_in(folder: &Path, words: &[&str]) -> Command {
    replace_library();
    preload_library();
    let mut command = Command::new(syncline());
    command.args(words).current_dir(folder);
    command
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

/// Threads spin while a holder sleeps, so a lock whose waiters sleep needs less processor time.
/// `tune` writes a policy with this lock and its measurement, and the program runs under that
/// policy.
#[test]
fn a_lock_that_sleeps_is_found_where_others_spin() {
    let folder = scratch();
    let program = Program::compile("tuned_spin.c");
    let program = program.path().to_str().expect("a path");
    let tune = ["tune", "--cpu", "--lock", "gate", "-o", "policy.toml", "-n", "6"];
    let words = [&tune[..], &["--at-most", "6", "--", program]].concat();
    let limit = std::time::Duration::from_secs(240);
    let outcome = run_limited(&mut syncline_in(folder.path(), &words), limit);
    outcome.assert_status(0);
    let said = text(&outcome.stdout);
    let gate = said.lines().find(|line| line.trim().starts_with("gate")).expect("the lock");
    // There are two experiments, one with the only target and one with all targets together. The
    // confidence is in both verdicts together, so six rounds are too few.
    assert!(gate.contains("too few runs") && said.contains("--at-most 7"), "{said}");

    // Six of 24 rounds are too few for a verdict, so the search continues, but it ends before all
    // 24 rounds have run.
    let words = [&tune[..], &["--", program]].concat();
    let outcome = run_limited(&mut syncline_in(folder.path(), &words), limit);
    outcome.assert_status(0);
    let said = text(&outcome.stdout);
    let gate = said.lines().find(|line| line.trim().starts_with("gate")).expect("the lock");
    assert!(gate.contains("faster, ") && gate.ends_with(", kept"), "{said}");
    assert!(!gate.contains(" 6 rounds") && !gate.contains(" 24 rounds"), "{said}");
    assert!(said.contains("All kept replacements together"), "{said}");
    let policy = fs::read_to_string(folder.path().join("policy.toml")).expect("a policy");
    assert!(policy.contains("object = \"table (") && policy.contains("use = \"gate\""), "{policy}");
    assert!(policy.contains("x as good"), "{policy}");
    let words = ["exec", "--report", "--policy", "policy.toml", "--", program];
    let output: Output = syncline_in(folder.path(), &words).output().expect("it runs");
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{output:?}");
    assert!(errors.contains(" with a policy\n") && errors.contains(" 1 spinlock\n"), "{errors}");
}

/// A program without locks has nothing to tune.
#[test]
fn tune_tries_nothing_if_no_lock_costs_time() {
    let folder = scratch();
    let output = syncline_in(folder.path(), &["tune", "--", "sleep", "0.1"]).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("nothing was tried"), "{output:?}");
}

/// The server is a shell script, and the load is another command. The load prints the figure, which
/// depends on the server's locks.
#[test]
fn a_servers_load_gives_the_figure() {
    let folder = scratch();
    let server = "trap 'exit 0' TERM; case $SYNCLINE_LOCKS in '') n=100;; gate) n=130;; esac
                  echo $n >number; echo ready to serve; while :; do sleep 0.02; done";
    let words = [
        "try",
        "--lock",
        "gate",
        "-n",
        "6",
        "--load",
        "echo figure $(cat number)",
        "--ready-line",
        "ready to serve",
        "--metric",
        r"figure (\d+)",
        "--",
        "/bin/sh",
        "-c",
        server,
    ];
    let output = syncline_in(folder.path(), &words).output().expect("it runs");
    let said = text(&output.stdout);
    assert!(said.contains("1.30x (1.30 to 1.30)  faster"), "{output:?}");
}

/// The program sees the settings that `try` changes: the processors on which its threads may run,
/// and its locks.
#[test]
fn settings_of_try_reach_the_program() {
    let folder = scratch();
    let program = "
        n=100
        case $SYNCLINE_LOCKS in libc-spin) n=120;; esac
        case $SYNCLINE_PLACE in
            'set '*) test $(nproc) = 1 && n=110;;
            'each '*) test $(nproc) = 1 && n=90;;
        esac
        echo figure $n";
    let words = [
        "try",
        "--mend",
        "spin,one-processor,packed",
        "-n",
        "8",
        "--metric",
        r"figure (\d+)",
        "--",
        "/bin/sh",
        "-c",
        program,
    ];
    let output = syncline_in(folder.path(), &words).output().expect("it runs");
    let said = text(&output.stdout);
    let line = |name: &str| said.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(line("--lock libc-spin").contains("1.20x"), "{said}");
    assert!(line("--place one-processor").contains("1.10x"), "{said}");
    assert!(line("--place packed").contains("0.90x"), "{said}");
}

/// Each new thread is placed on the next processor, and the first thread stays where it was placed.
#[test]
fn threads_are_placed_one_after_the_other() {
    let folder = scratch();
    let source = folder.path().join("where.c");
    let program = folder.path().join("where");
    fs::write(
        &source,
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <sched.h>\n#include <stdio.h>\n\
         static void *tell(void *a) { cpu_set_t s; sched_getaffinity(0, sizeof s, &s);\n\
         int c = 0; while (!CPU_ISSET(c, &s)) c++;\n\
         printf(\"%d of %d\\n\", c, CPU_COUNT(&s)); return a; }\n\
         int main(void) { for (int i = 0; i < 3; i++) { pthread_t t;\n\
         pthread_create(&t, NULL, tell, NULL); pthread_join(t, NULL); } tell(NULL); }\n",
    )
    .expect("a source");
    let mut compiler = Command::new("cc");
    compiler.arg("-pthread").arg(&source).arg("-o").arg(&program);
    run_limited(&mut compiler, std::time::Duration::from_secs(60)).assert_status(0);
    let mut command = syncline_in(folder.path(), &["exec", "--place", "packed", "--"]);
    let said = text(&command.arg(&program).output().expect("it runs").stdout);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.iter().all(|line| line.ends_with(" of 1")), "{said}");
    // The lines come from the second, third and fourth thread, and then from the first thread.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if processors == 2 {
        assert!(lines[0] == lines[2] && lines[1] == lines[3] && lines[0] != lines[1], "{said}");
    }
}
