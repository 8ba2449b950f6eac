//! Each process is recorded once and completely, however it began and ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use syncline_analysis::model::State;
use syncline_conformance::{
    Both, Case, Program, is_root, preload_library, run_limited, scratch, syncline,
};
use syncline_recording::layout::{PROCESS_EXITED, PROCESS_RUNNING};
use syncline_recording::{Op, process_files};

const LIMIT: Duration = Duration::from_secs(20);

fn shell(script: String) -> Case {
    Case::new(&Program::installed("/bin/sh")).arg("-c").arg(script)
}

/// Runs `dies MANNER`, which must end with `status`. The file must have the state `state`, which
/// says whether the recorder saw the end.
#[track_caller]
fn dies(manner: &str, status: i32, state: u32) {
    let case = Case::new(&Program::compile("dies.c")).arg(manner).status(status);
    let both = case.exact();
    assert_eq!(both.recording.only().header.state, state);
    assert_eq!(both.truth.facts.len(), 6);
}

#[test]
fn killed() {
    dies("kill", 128 + 9, PROCESS_RUNNING);
}

#[test]
fn killed_after_the_end_of_a_child_in_its_memory() {
    dies("vfork", 128 + 9, PROCESS_RUNNING);
}

#[test]
fn segmentation_fault() {
    dies("segv", 128 + 11, PROCESS_RUNNING);
}

#[test]
fn aborted() {
    dies("abort", 128 + 6, PROCESS_RUNNING);
}

#[test]
fn underscore_exit_from_a_thread() {
    dies("_exit", 3, PROCESS_EXITED);
}

#[test]
fn exit_from_a_thread() {
    dies("exit", 4, PROCESS_EXITED);
}

#[test]
fn quick_exit_from_a_thread() {
    dies("quick_exit", 5, PROCESS_EXITED);
}

/// Runs `ends MANNER`, and checks that the report knows the ends of the program and of its
/// children. A program that executed another one has no end: `programs` were run, and
/// `programs_that_ended` of them have an end.
#[track_caller]
fn ends(manner: &str, programs_that_ended: usize, programs: usize) {
    let both = Case::new(&Program::compile("ends.c")).arg(manner).both();
    let main = both.truth.value("main") as u32;
    let states = states(&both.recording.folder());
    let (own, children): (Vec<_>, Vec<_>) = states.into_iter().partition(|s| s.0 == main);
    let ended = own.iter().filter(|s| s.1 == State::Exited { status: Some(0) });
    assert_eq!((ended.count(), own.len()), (programs_that_ended, programs));
    assert!(children.iter().all(|s| s.1 == State::Exited { status: Some(7) }));
    assert_eq!(children.len(), programs);
}

#[test]
fn an_end_by_a_system_call() {
    ends("call", 1, 1);
    ends("raw", 1, 1);
    ends("exec", 1, 2);
}

/// The process numbers of a recording, each with how the process ended, in the order in which the
/// processes began.
fn states(folder: &Path) -> Vec<(u32, State)> {
    let options = syncline_analysis::Options::default();
    let analysis = syncline_analysis::Analysis::load(folder, &options).expect("a recording");
    let mut processes = analysis.processes;
    processes.sort_by_key(|process| process.started);
    processes.iter().map(|process| (process.pid, process.state)).collect()
}

/// If a child ends by a system call in its own code, or by a signal, the child's file does not say
/// how the child ended. The report then shows the end that the parent learned from `wait`. The
/// program itself checks the ends that it learns from `wait`.
#[test]
fn an_end_that_only_the_parent_sees() {
    let both = Case::new(&Program::compile("reaps.c")).both();
    let states = states(&both.recording.folder());
    let exited = |status| State::Exited { status: Some(status) };
    let seen = [
        ("wait", exited(1)),
        ("waitpid", exited(2)),
        ("wait3", State::Killed { signal: Signal::SIGKILL as i32 }),
        ("wait4", State::Killed { signal: Signal::SIGSEGV as i32 }),
        ("waitid", exited(5)),
        ("stopped", exited(6)),
        ("handler", exited(7)),
        ("cancelled", exited(8)),
    ];
    for (how, state) in seen {
        let pid = both.truth.value(how) as u32;
        let own: Vec<State> = states.iter().filter(|s| s.0 == pid).map(|s| s.1).collect();
        assert_eq!(own, [state], "{how}");
    }
    // This process ran two programs. The first executed the second one, which ended with status 10.
    let pid = both.truth.value("exec") as u32;
    let own: Vec<State> = states.iter().filter(|s| s.0 == pid).map(|s| s.1).collect();
    assert_eq!(own, [State::Executed, exited(10)]);
    // No process waited for the child of that process.
    assert_eq!(states.len(), seen.len() + 4);
    assert_eq!(states.iter().filter(|s| s.1 == State::Unknown).count(), 1);
}

/// A shell uses no lock, so it has no file of its own in which to note how its children ended.
#[test]
fn an_end_that_a_shell_sees() {
    let program = Program::compile("ends.c");
    let script = format!("{} raw; test $? = 0", program.path().display());
    let (_, recording) = shell(script).recorded();
    let states = states(&recording.folder());
    assert_eq!(states.len(), 2);
    assert!(
        states.iter().all(|s| matches!(s.1, State::Exited { status: Some(0 | 7) })),
        "{states:?}"
    );
}

/// A child that outlives the program keeps no pipe of the program open, and neither does the
/// process that recorded the program.
#[test]
fn a_pipe_closes_when_the_program_has_ended() {
    let program = Program::compile("ends.c");
    let folder = scratch();
    preload_library();
    let script = "\"$1\" record -o \"$2/kept\" -- \"$3\" leave 2>&1 | cat";
    let shell = Case::new(&Program::installed("/bin/sh")).args(["-c", script, "sh"]);
    let began = Instant::now();
    let outcome = shell.arg(syncline()).arg(folder.path()).arg(program.path()).plain();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(outcome.behaviour().contains("1 process still runs"), "{}", outcome.behaviour());
}

/// Checks that each process that printed facts is recorded in exactly one file. Returns the number
/// of these processes.
#[track_caller]
fn assert_one_file_each(both: &Both) -> usize {
    let said: BTreeSet<u32> = both.truth.facts.iter().map(|f| f.pid).collect();
    for pid in &said {
        let files = both.recording.processes.iter().filter(|p| p.header.pid == *pid).count();
        assert_eq!(files, 1, "files of process {pid}");
    }
    said.len()
}

#[test]
fn a_forking_server() {
    let both = Case::new(&Program::compile("fork_server.c")).exact();
    assert_eq!(assert_one_file_each(&both), 10);
    assert_eq!(both.recording.processes.len(), 10);
}

#[test]
fn a_hundred_forks_in_the_middle_of_everything() {
    let both = Case::new(&Program::compile("fork_storm.c")).both();
    assert_eq!(both.recording.processes.len(), 101);
}

#[test]
fn objects_in_shared_memory() {
    let both = Case::new(&Program::compile("shared.c")).exact();
    assert_eq!(assert_one_file_each(&both), 3);
}

/// The recording of a process that was killed says what each thread waited for.
#[test]
fn killed_in_a_deadlock() {
    let (_, recording) = Case::new(&Program::compile("deadlock.c")).status(128 + 9).recorded();
    let process = recording.only();
    let mut waiting: Vec<u64> = Vec::new();
    for thread in &process.threads {
        if thread.record.waiting_op == Op::MutexLock as u32 {
            waiting.push(thread.record.waiting_lock);
            assert!(!process.stack(thread.record.waiting_stack).is_empty());
            let since = process.ended().saturating_sub(thread.record.waiting_since);
            assert!(process.seconds(since) < 5.0);
        }
    }
    assert_eq!(waiting.len(), 2, "two threads wait for each other");
    assert_ne!(waiting[0], waiting[1]);
}

#[test]
fn vfork_spawn_system_popen() {
    let both = Case::new(&Program::compile("spawns.c")).arg("all").exact();
    assert_eq!(assert_one_file_each(&both), 6);
}

/// A child that shares the memory of its parent (`vfork`) counts in that memory, and does not
/// disturb the counts of the parent's other threads.
#[test]
fn vfork_and_spawn_while_other_threads_lock() {
    let both = Case::new(&Program::compile("spawning.c")).exact();
    assert_eq!(both.recording.processes.len(), 1 + 2 * 40);
}

#[track_caller]
fn two_files_of_one_process(way: &str, status: i32) {
    let both = Case::new(&Program::compile("spawns.c")).arg(way).status(status).exact();
    let files = &both.recording.processes;
    assert_eq!(files.len(), 2);
    assert_eq!(files[0].header.pid, files[1].header.pid);
}

#[test]
fn exec_of_itself() {
    two_files_of_one_process("exec", 22);
}

#[test]
fn exec_from_a_thread() {
    two_files_of_one_process("exec-from-thread", 24);
}

/// The child's environment names no library to preload, so it is not recorded.
#[test]
fn a_child_whose_environment_is_cleared() {
    let leaf = Program::compile("spawns.c");
    let leaf = leaf.path().display();
    let both = shell(format!("{leaf} leaf 10; env -i {leaf} leaf 20")).status(20).both();
    let pids: Vec<u32> = both.truth.facts.iter().map(|f| f.pid).collect();
    let recorded: Vec<u32> = both.recording.processes.iter().map(|p| p.header.pid).collect();
    assert!(recorded.contains(&pids[0]) && !recorded.contains(&pids[1]));
}

#[test]
fn the_children_of_a_shell_script() {
    let leaf = Program::compile("spawns.c");
    let leaf = leaf.path().display();
    let script = format!("{leaf} leaf 10; {leaf} leaf 20 | cat; ({leaf} leaf 30) & wait; exit 5");
    let both = shell(script).status(5).exact();
    assert_eq!(assert_one_file_each(&both), 3);
}

/// In a report, each process has the number of processors that the program could use, even a forked
/// child.
#[test]
fn children_had_the_same_processors() {
    let leaf = Program::compile("spawns.c");
    let folder = scratch();
    shell(format!("{} leaf 10; exit 0", leaf.path().display())).recorded_to(folder.path());
    let mut report = Command::new(syncline());
    report.args(["report", "--json"]).arg(folder.path().join("recording"));
    let outcome = run_limited(&mut report, LIMIT);
    outcome.assert_status(0);
    let report: serde_json::Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    let here = std::thread::available_parallelism().expect("processors").get() as u64;
    let processes = report["processes"].as_array().expect("processes");
    assert!(!processes.is_empty());
    assert!(processes.iter().all(|p| p["processors"] == here), "{here}: {processes:?}");
}

#[test]
fn command_lines_are_printed_as_a_shell_takes_them_back() {
    let leaf = Program::compile("spawns.c");
    let arguments = ["leaf", "7", "", "a b", "it's", "$HOME", ""];
    let folder = scratch();
    Case::new(&leaf).args(arguments).status(7).recorded_to(folder.path());
    let recording = folder.path().join("recording");
    let quoted = r" leaf 7 '' 'a b' 'it'\''s' '$HOME' ''";
    for command in [&["report"][..], &["diff", recording.to_str().expect("a path")]] {
        let mut syncline = Command::new(syncline());
        let outcome = run_limited(syncline.args(command).arg(&recording), LIMIT);
        outcome.assert_status(0);
        let text = String::from_utf8_lossy(&outcome.stdout);
        let lines = text.lines().map(str::trim_end);
        // The report may shorten a long path.
        let found = lines.filter(|line| line.ends_with(quoted)).count();
        assert_eq!(found, if command.len() == 1 { 1 } else { 2 }, "{text}");
    }
}

#[test]
fn a_program_under_timeout() {
    let leaf = Program::compile("spawns.c");
    let case = Case::new(&Program::installed("/usr/bin/timeout")).arg("20").arg(leaf.path());
    let both = case.args(["leaf", "77"]).status(77).exact();
    assert_eq!(assert_one_file_each(&both), 1);
}

#[test]
fn a_daemon_that_closes_all_files() {
    let both = Case::new(&Program::compile("daemon.c")).exact();
    assert_eq!(assert_one_file_each(&both), 1);
}

#[test]
fn constructors_exit_handlers_and_destructors() {
    Case::new(&Program::compile("constructors.c")).exact();
}

#[test]
fn another_preloaded_library_that_locks_first_and_last() {
    let library = Program::compile_with("early_library.c", &["-shared", "-fPIC"]);
    let both =
        Case::new(&Program::compile("constructors.c")).env("LD_PRELOAD", library.path()).exact();
    let locks: BTreeSet<_> = both.truth.facts.iter().filter_map(|f| f.lock).collect();
    assert_eq!(locks.len(), 5, "the library states its lock too");
}

/// Runs a program that gives up privileges. Returns the number of recorded processes. Returns
/// `None`, after a message, if the user is not root.
fn gives_up(what: &str) -> Option<usize> {
    let folder = scratch();
    fs::create_dir(folder.path().join("tmp")).expect("a folder");
    let program = Program::compile("privileges.c");
    if !is_root() {
        eprintln!("skipped: only root can give privileges up");
        return None;
    }
    let both = Case::new(&program).arg(what).arg(folder.path()).exact();
    Some(both.recording.processes.len())
}

#[test]
fn setuid_to_nobody() {
    let recorded = gives_up("setuid");
    assert!(
        recorded.is_none_or(|processes| processes == 2),
        "its child makes a file, as another user"
    );
}

#[test]
fn chroot() {
    let recorded = gives_up("chroot");
    assert!(
        recorded.is_none_or(|processes| processes == 2),
        "its child finds no folder, and needs none"
    );
}

#[test]
fn runs_of_a_program_that_gives_its_rights_up() {
    if !is_root() {
        eprintln!("skipped: only root can give privileges up");
        return;
    }
    let folder = scratch();
    let program = Program::compile("privileges.c");
    let case = Case::new(&program).arg("setuid").arg(folder.path()).option("--runs").option("3");
    case.recorded_to(folder.path());
    let first = folder.path().join("recording");
    for run in [first.clone(), first.join("run-2"), first.join("run-3")] {
        let files = process_files(&run).expect("a recording");
        assert_eq!(files.len(), 2, "in {}, its child makes a file too", run.display());
    }
    let report = Command::new(syncline()).args(["report", "--json"]).arg(&first).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).expect("JSON");
    let runs = &report["processes"][0]["runs"];
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(3), "{runs}");
}
