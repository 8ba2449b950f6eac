//! Syncline refuses processes that it can't attach to, and says why, before it changes anything in
//! them. It does not refuse processes that look odd but can be attached to.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getuid};
use syncline_conformance::{Program, eventually, scratch};

use crate::changing::{self, Asked};
use crate::{ROUND, Running, attach, counted, record};

/// Checks that attaching to the process for a second fails with this status and these words, and
/// leaves no file.
#[track_caller]
fn refused(pid: u32, status: i32, words: &str) {
    refused_as(pid, status, words, |_| {});
}

#[track_caller]
fn refused_as(pid: u32, status: i32, words: &str, change: impl FnOnce(&mut Command)) {
    let folder = scratch();
    let recording = folder.path().join("refused");
    let mut command = record(pid, &recording);
    change(command.args(["--for", "1s"]));
    let Output { status: was, stderr, .. } = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(was.code(), Some(status), "{said}");
    assert!(said.contains(words), "{said}");
    assert!(!recording.exists(), "nothing is left behind");
}

/// A program that runs until this value is dropped.
struct There(Child);

impl There {
    /// Starts the program, and waits for a line of its output.
    fn start(mut command: Command) -> There {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert!(!line.is_empty(), "it ended");
        There(child)
    }
}

impl Drop for There {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

#[test]
fn a_second_command_is_refused_by_name() {
    let folder = scratch();
    let mut running = Running::start();
    let command = running.attach(&folder.path().join("first"));
    refused(running.pid, 126, &format!("by process {} (syncline)", command.child.id()));
    // The second command runs in another network namespace, as in a container.
    let works = Command::new("unshare").arg("--net").arg("true").output();
    if works.is_ok_and(|output| output.status.success()) {
        let other = record(running.pid, &folder.path().join("second"));
        let mut command = Command::new("unshare");
        command.arg("--net").arg(other.get_program()).args(other.get_args());
        command.envs(other.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.args(["--for", "0.1s"]).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(126) && said.contains("recorded already"), "{said}");
    }
    running.round();
    command.end();
    assert_eq!(counted(&folder.path().join("first"), running.lock), ROUND);
}

#[test]
fn an_earlier_recording_stays() {
    let folder = scratch();
    let earlier = folder.path().join("recording");
    fs::create_dir(&earlier).expect("a folder");
    fs::write(earlier.join("1.syncline"), "").expect("a file");
    let output = record(u32::MAX / 2, &earlier).output().expect("it starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(earlier.join("1.syncline").exists());
    assert!(!folder.path().join("recording.old").exists());
}

#[test]
fn unsuitable_programs_are_refused() {
    refused(u32::MAX / 2, 127, "there is no process");
    let file = Program::compile_with("attached.c", &["-static"]);
    let still = There::start(Command::new(file.path()));
    refused(still.0.id(), 126, "statically linked");
    // The loader's name tells Syncline which C library a program uses. Here the name is musl's,
    // although the loader is glibc's.
    let folder = scratch();
    let musl = "ld-musl-x86_64.so.1";
    std::os::unix::fs::symlink("/lib64/ld-linux-x86-64.so.2", folder.path().join(musl)).unwrap();
    let flag = format!("-Wl,--dynamic-linker=./{musl}");
    let file = Program::compile_with("attached.c", &[&flag]);
    let mut command = Command::new(file.path());
    command.current_dir(folder.path());
    refused(There::start(command).0.id(), 126, "uses the C library musl");
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        refused(2, 126, "one of the kernel's own");
    }
}

#[test]
fn processes_that_are_stopped_or_traced_or_recorded() {
    let mut running = Running::start();
    let pid = Pid::from_raw(running.pid as i32);
    kill(pid, Signal::SIGSTOP).expect("a signal");
    while !crate::stopped(running.pid) {
        std::thread::yield_now();
    }
    refused(running.pid, 126, "is stopped\nhint: `kill -CONT`");
    kill(pid, Signal::SIGCONT).expect("a signal");
    running.round();

    let tracer = Program::compile("traces.c");
    let mut command = Command::new(tracer.path());
    command.arg(running.pid.to_string());
    let tracer = There::start(command);
    let words = format!("is being traced by process {}", tracer.0.id());
    refused(running.pid, 126, &words);
    drop(tracer);
    running.round();

    let folder = scratch();
    let recording = folder.path().join("recording");
    let recorded = Running::start_by(|program| {
        let mut command = Command::new(syncline_conformance::syncline());
        command.env("SYNCLINE_PRELOAD", syncline_conformance::preload_library());
        command.args(["record", "-o"]).arg(&recording).arg("--").arg(program);
        command
    });
    // The file with the session is written only after the program has started.
    let session = || syncline_recording::Session::read(&recording).expect("it can be read");
    let session = eventually("a session", session);
    refused(session.pid, 126, "has been recorded since its start");
    drop(recorded);
}

/// Attaching to a process of another user is refused. If `ptrace_scope` is not 0, a process of the
/// same user is refused with the same words.
#[test]
fn processes_of_other_users() {
    if !getuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let mut running = Running::start();
    let nobody = |command: &mut Command| {
        command.uid(65534).gid(65534);
    };
    // A folder to which the other user may write.
    let open = scratch();
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(open.path(), everybody).expect("it is ours");
    let recording = open.path().join("refused");
    let mut command = record(running.pid, &recording);
    nobody(&mut command);
    let output = command.args(["--for", "1s"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(
        said.contains("can't be attached to") && said.contains("hint: run it as root"),
        "{said}"
    );
    assert!(!recording.exists(), "nothing is left behind");
    running.round();
}

#[test]
fn sandboxes_that_forbid_needed_calls_are_refused() {
    let program = Program::compile("confined.c");
    let start = |what: &str| {
        let mut command = Command::new(program.path());
        command.arg(what);
        There::start(command)
    };
    let strict = start("strict");
    refused(strict.0.id(), 126, "forbids all but a few system calls");
    for what in ["socketpair", "mprotect"] {
        let mut sandboxed = start(what);
        if getuid().is_root() {
            refused(sandboxed.0.id(), 126, &format!("ends it if it calls {what}"));
        } else {
            refused(sandboxed.0.id(), 126, "can't be read");
        }
        assert!(sandboxed.0.try_wait().expect("it is ours").is_none(), "it lives");
    }
    if getuid().is_root() {
        let harmless = start("reboot");
        let folder = scratch();
        let recording = folder.path().join("recording");
        attach(harmless.0.id(), &recording, &[]).end();
        assert!(recording.exists());
    }
}

/// Syncline reads the frames of a stack that is not the thread's own without `process_vm_readv`,
/// which the sandboxes of many services forbid.
#[test]
fn a_sandbox_that_forbids_dispensable_calls() {
    if !getuid().is_root() {
        eprintln!("skipped: only root can read a sandbox's filter");
        return;
    }
    let program = Program::compile("confined_stack.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    assert_eq!(asked.ask(b'?'), "1000");
    let recording = folder.path().join("recording");
    let command = attach(asked.child.id(), &recording, &[]);
    assert_eq!(asked.ask(b'?'), "2000");
    command.end();
    asked.ends();
    assert_eq!(changing::counted(&recording), [1000]);
    let mut report = Command::new(syncline_conformance::syncline());
    let output = report.args(["report", "--json"]).arg(&recording).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\"rounds\""), "the caller's caller is known: {text}");
}

/// Whether the report says that the process continued.
pub fn says_still_runs(recording: &Path) -> bool {
    let mut report = Command::new(syncline_conformance::syncline());
    let output = report.arg("report").arg(recording).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).contains("still runs")
}
