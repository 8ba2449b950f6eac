//! Tests of what `record` does before, during and after a program's run. The program must notice
//! nothing except the documented environment variables, and the folder must contain what was
//! recorded.

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Sandbox, USED, errors, start};
use nix::sys::signal::{SigHandler, Signal, kill};
use nix::unistd::Pid;
use syncline_recording::{Ending, Session, process_files};

fn shell<'a>(record: &'a mut Command, script: &str) -> &'a mut Command {
    record.args(["--", "sh", "-c", script])
}

fn session(folder: &Path) -> Session {
    Session::read(folder).unwrap().expect("there is a session")
}

#[test]
fn the_exit_status_is_the_programs() {
    let sandbox = Sandbox::new();
    for status in [0, 1, 7, 125, 255] {
        let script = format!("exit {status}");
        let output = shell(&mut sandbox.record(), &script).output().unwrap();
        assert_eq!(output.status.code(), Some(status));
        let session = session(&sandbox.path("syncline-recording"));
        assert_eq!(session.ending, Some(Ending::Status(status)));
        assert_eq!(session.command, ["sh", "-c", &script]);
        assert!(session.seconds.is_some_and(|seconds| seconds > 0.0));
    }
}

#[test]
fn a_signal_that_ends_the_program_shows_in_the_status() {
    let sandbox = Sandbox::new();
    let output = shell(&mut sandbox.record(), "kill -9 $$").output().unwrap();
    assert_eq!(output.status.code(), Some(137));
    assert_eq!(output.status.signal(), None);
    let session = session(&sandbox.path("syncline-recording"));
    assert_eq!(session.ending, Some(Ending::Signal(9)));
}

#[test]
fn the_environment_is_the_contract_with_the_library() {
    let sandbox = Sandbox::new();
    let mut record = sandbox.record();
    record.env("LD_PRELOAD", "libm.so.6").env("KEPT", "1").args(["-o", "out", "--max-size", "64M"]);
    assert!(record.arg("true").status().unwrap().success());

    let text = fs::read_to_string(sandbox.path("environment")).unwrap();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    assert_eq!(value("LD_PRELOAD"), format!("{}:libm.so.6", common::library().display()));
    assert_eq!(value("SYNCLINE_MAX_SIZE"), (64 << 20).to_string());
    let folder = Path::new(value("SYNCLINE_RECORDING"));
    assert!(folder.is_absolute());
    assert_eq!(folder, sandbox.path("out").canonicalize().unwrap());
    let rate: u64 = value("SYNCLINE_TICKS_PER_SECOND").parse().unwrap();
    match value("SYNCLINE_CLOCK") {
        "1" => assert!((100_000_000..20_000_000_000).contains(&rate), "{rate}"),
        "2" => assert_eq!(rate, 1_000_000_000),
        other => panic!("unknown clock {other}"),
    }
    assert_eq!(value("KEPT"), "1");
}

#[test]
fn standard_streams_and_the_programs_name_pass_untouched() {
    let sandbox = Sandbox::new();
    let name = "int printf(const char *, ...); int getchar(void); int main(int c, char **v) {\n\
                printf(\"%s %s \", v[0], v[1]); for (int b; (b = getchar()) >= 0;) printf(\"%c\", b); }";
    sandbox.program("app", name, &[]);
    let mut record = sandbox.record();
    record.args(["./app", "-o"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = record.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"in").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"./app -o in");
}

#[test]
fn scripts_without_a_first_line_run_in_the_shell() {
    let sandbox = Sandbox::new();
    sandbox.executable("script", b"exit 3\n");
    let output = sandbox.record().arg("./script").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

/// A shell command that takes a while, but ends.
const SOME_TIME: &str = "n=0; while [ $n -lt 1000 ]; do sleep 0.02; n=$((n + 1)); done";

/// Sets signals to their default actions in the command. A shell can't trap a signal that was
/// ignored when the shell started, as such signals are in a background job.
fn with_default_signals(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    let reset = || {
        for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP] {
            // SAFETY: the default action installs no handler function, which would have to be
            // async-signal-safe.
            unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }?;
        }
        Ok(())
    };
    // SAFETY: after the fork, `reset` only makes system calls.
    unsafe { command.pre_exec(reset) }
}

#[test]
fn signals_are_passed_on() {
    let sandbox = Sandbox::new();
    for signal in ["INT", "QUIT", "TERM", "HUP", "USR1", "USR2"] {
        let script = format!("trap 'wait; exit 3' {signal}; echo ready; {SOME_TIME}");
        let mut record = sandbox.record();
        let mut child = start(shell(with_default_signals(&mut record), &script));
        send(&child, format!("SIG{signal}").parse().unwrap());
        assert_eq!(child.wait().unwrap().code(), Some(3), "{signal}");
    }
}

/// The masks of blocked and ignored signals with which a program starts. A shell first runs
/// `before`, and then executes the program under `command`, or by itself if `command` is empty.
fn signal_masks(sandbox: &Sandbox, before: &str, command: &str) -> String {
    let mut shell = Command::new("sh");
    let script = format!("{before} exec {command} grep -E 'SigBlk|SigIgn' /proc/self/status");
    shell.args(["-c", &script]).env("SYNCLINE", env!("CARGO_BIN_EXE_syncline"));
    shell.env("SYNCLINE_PRELOAD", common::library()).current_dir(sandbox.path("."));
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

#[test]
fn the_program_starts_with_the_signals_that_syncline_was_started_with() {
    let sandbox = Sandbox::new();
    for before in ["", "trap '' PIPE;", "trap '' INT HUP CHLD USR1;"] {
        let plain = signal_masks(&sandbox, before, "");
        let recorded = signal_masks(&sandbox, before, "\"$SYNCLINE\" record");
        assert!(plain.contains("SigIgn"), "{plain}");
        assert_eq!(plain, recorded, "after `{before}`");
    }
}

#[test]
fn the_previous_recording_becomes_old_and_replaces_the_older() {
    let sandbox = Sandbox::new();
    for status in ["1", "2", "3"] {
        shell(&mut sandbox.record(), &format!("exit {status}")).output().unwrap();
    }
    let ending = |name| session(&sandbox.path(name)).ending;
    assert_eq!(ending("syncline-recording"), Some(Ending::Status(3)));
    assert_eq!(ending("syncline-recording.old"), Some(Ending::Status(2)));
}

/// The older recording is removed only after the program has ended, since removing thousands of
/// files would slow down a program that makes files.
#[test]
fn an_older_recording_stays_until_the_program_has_ended() {
    let sandbox = Sandbox::new();
    let older = sandbox.path("syncline-recording.old/older/session.json");
    let record = |script: &str| shell(&mut sandbox.record(), script).status().unwrap().code();
    let make_file = |name: &str| fs::write(sandbox.path(name).join("1.syncline"), "").unwrap();
    assert_eq!(record("exit 1"), Some(1));
    make_file("syncline-recording");
    assert_eq!(record("exit 2"), Some(2));
    make_file("syncline-recording");
    assert_eq!(record(&format!("test -e {}", older.display())), Some(0));
    assert!(!older.exists());

    // No recording is lost if Syncline is killed while the program runs. The next run removes the
    // two older recordings, and keeps the one that was cut short as the old one.
    make_file("syncline-recording");
    // Waits for the session file, which is written shortly after the program has started. Without
    // it, there is no recording yet.
    let written = sandbox.path("syncline-recording/session.json");
    let kill = format!("until test -e {}; do :; done; kill -9 $PPID", written.display());
    assert_eq!(record(&kill), None);
    assert!(older.exists());
    make_file("syncline-recording");
    // The shell runs a moment longer than the command that it has killed. Until it ends, the
    // recording counts as still being written.
    let began = Instant::now();
    let mut status = record("exit 3");
    while status == Some(125) && began.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(10));
        status = record("exit 3");
    }
    assert_eq!(status, Some(3));
    assert!(!older.exists() && !sandbox.path("syncline-recording/older").exists());
    assert!(sandbox.path("syncline-recording.old/1.syncline").exists());
}

#[test]
fn an_old_folder_with_something_else_in_it_is_left_alone() {
    let sandbox = Sandbox::new();
    assert!(sandbox.record().arg("true").status().unwrap().success());
    assert!(sandbox.record().arg("true").status().unwrap().success());
    let precious = sandbox.path("syncline-recording.old/report.html");
    fs::write(&precious, "").unwrap();
    let output = sandbox.record().arg("true").output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(errors(&output).contains("syncline-recording.old"), "{}", errors(&output));
    assert!(precious.exists());
}

#[test]
fn an_empty_output_folder_is_accepted() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).unwrap();
    assert!(sandbox.record().args(["-o", "empty", "true"]).status().unwrap().success());
    assert!(sandbox.path("empty/session.json").exists());
}

#[test]
fn recording_files_are_truncated_and_summarized() {
    let sandbox = Sandbox::new();
    let output = shell(&mut sandbox.record(), "true; env true").output().unwrap();
    let files = process_files(&sandbox.path("syncline-recording")).unwrap();
    assert_eq!(files.len(), 2);
    for file in files {
        assert_eq!(fs::metadata(file).unwrap().len(), USED);
    }
    let errors = errors(&output);
    assert!(
        errors.contains("recorded 2 processes and 4 threads in syncline-recording ("),
        "{errors}"
    );
    assert!(errors.contains("`syncline report syncline-recording`"), "{errors}");
}

#[test]
fn running_processes_are_counted_and_their_files_not_truncated() {
    let sandbox = Sandbox::new();
    let script = "sleep 60 >/dev/null 2>&1 & echo $!\n\
                  until [ -s syncline-recording/$!.syncline ]; do sleep 0.02; done; sleep 0.1";
    let output = shell(&mut sandbox.record(), script).output().unwrap();
    let errors = errors(&output);
    assert!(errors.contains("1 process still runs and may add to it"), "{errors}");

    let sleeper: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let file = sandbox.path(&format!("syncline-recording/{sleeper}.syncline"));
    assert_eq!(fs::metadata(file).unwrap().len(), 1 << 20);

    let second = sandbox.record().arg("true").output().unwrap();
    kill(Pid::from_raw(sleeper), Signal::SIGKILL).unwrap();
    let errors = common::errors(&second);
    assert_eq!(second.status.code(), Some(125));
    assert!(errors.contains(&format!("process {sleeper} is still being recorded")), "{errors}");
}

#[test]
fn the_recorder_may_be_killed_and_the_program_goes_on() {
    let sandbox = Sandbox::new();
    let script = "echo ready; sleep 0.3; echo done > finished";
    let mut child = start(shell(&mut sandbox.record(), script));
    wait_until("session.json is written", &sandbox.path("syncline-recording/session.json"));
    child.kill().unwrap();
    child.wait().unwrap();
    let session = session(&sandbox.path("syncline-recording"));
    assert_eq!((session.ending, session.seconds), (None, None));
    wait_until("the program goes on to its end", &sandbox.path("finished"));
}

#[track_caller]
fn wait_until(what: &str, file: &Path) {
    for _ in 0..200 {
        if file.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("not within 10 s: {what}");
}

#[test]
fn an_empty_recording_is_explained() {
    let sandbox = Sandbox::new();
    let mut record = sandbox.record();
    let output = record.env("LEAVE_NO_FILE", "1").arg("true").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(errors(&output).contains("nothing was recorded"), "{}", errors(&output));
}
