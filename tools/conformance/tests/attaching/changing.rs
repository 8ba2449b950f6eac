//! Programs that change while Syncline is attached to them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{scope, sleep};
use std::time::Duration;

use syncline_conformance::{Program, eventually, scratch, syncline};
use syncline_recording::{Op, ProcessFile, process_files};

use crate::{attach, record, stopped, times};

/// A program that answers each byte of its standard input with a line.
pub struct Asked {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Asked {
    pub fn start(command: &mut Command) -> Asked {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Asked { child, input, output }
    }

    pub fn ask(&mut self, what: u8) -> String {
        self.input.write_all(&[what]).expect("it reads");
        self.line()
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Ends the program, which must succeed.
    pub fn ends(mut self) {
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// The number of calls of `pthread_mutex_lock` in a recording, for each process.
pub fn counted(recording: &Path) -> Vec<u64> {
    let each = |file: &PathBuf| {
        let threads = ProcessFile::open(file).expect("it is whole").threads;
        let rows = threads.iter().flat_map(|thread| &thread.rows);
        rows.filter(|row| row.op == Op::MutexLock).map(|row| row.counts.calls).sum()
    };
    process_files(recording).expect("a recording").iter().map(each).collect()
}

/// A library that is opened after attaching is recorded as well, if it stays open long enough to be
/// seen. After detaching, its calls go to the C library again.
#[test]
fn a_library_that_is_opened_later() {
    let program = Program::compile("opens_later.c");
    let library = Program::compile_with("opened.c", &["-shared", "-fPIC"]);
    let folder = scratch();
    let mut asked = Asked::start(Command::new(program.path()).arg(library.path()));
    let pid = asked.child.id();
    let mut ask = |what: u8| asked.ask(what);
    assert_eq!(ask(b'r'), "none");
    for time in 0..2 {
        let recording = folder.path().join(time.to_string());
        let command = attach(pid, &recording, &[]);
        assert_eq!(ask(b'o'), "opened");
        let most = || {
            let files = process_files(&recording).expect("a recording");
            let file = ProcessFile::open(&files[0]).expect("it is whole");
            let rows = file.threads.iter().flat_map(|thread| &thread.rows);
            rows.filter(|row| row.op == Op::MutexLock).map(|row| row.counts.calls).max()
        };
        // Syncline looks for new libraries ten times a second. It points a library's calls to the
        // recorder while the program waits for a byte, so none or all of 1,000 calls are counted.
        eventually("counted calls", || {
            assert_eq!(ask(b'r'), "1000");
            most()
        });
        assert_eq!(most(), Some(1000));
        command.end();
        assert_eq!(ask(b'r'), "1000");
        assert_eq!(ask(b'c'), "closed");
        assert_eq!(most(), Some(1000));
    }
    asked.ends();
}

/// If the program gets functions from `dlsym` during a recording, calls of these functions are
/// counted in that recording and in each later one. Between recordings, the calls go to the C
/// library. Syncline can attach and detach even while a thread calls such functions all the time.
#[test]
fn functions_found_with_dlsym() {
    let program = Program::compile("fetches.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    let pid = asked.child.id();
    let mut ask = |what: u8| asked.ask(what);
    let counted = |recording: &Path| counted(recording)[0];
    assert_eq!((ask(b'd'), ask(b'c')), ("1".into(), "1".into()), "the C library's");
    let missed = |recording: &Path| {
        let files = process_files(recording).expect("a recording");
        ProcessFile::open(&files[0]).expect("it is whole").header.pointers_missed
    };
    // In each round the program gets two more pairs of pointers and then calls all pairs. The first
    // pair, which it got before any recording, is not recorded.
    for (recording, fetched) in [2, 4].into_iter().enumerate() {
        let recording = folder.path().join(recording.to_string());
        let command = attach(pid, &recording, &[]);
        assert_eq!((ask(b'd'), ask(b'l')), ("0".into(), "1".into()), "one gate for a function");
        assert_eq!(ask(b'n'), "missing");
        assert_eq!((ask(b'c'), ask(b'g')), ("1".into(), "1".into()));
        command.end();
        assert_eq!((ask(b'c'), ask(b'g')), ("1".into(), "0".into()), "nothing of ours is called");
        assert_eq!(counted(&recording), fetched * 1000);
        assert_eq!(missed(&recording), 2, "the first pair is known to be missing");
    }
    assert_eq!(ask(b'd'), "1", "the C library's again");
    assert_eq!(ask(b'h'), "hurries");
    let mut hurried = 0;
    for time in 0..times(10) {
        let recording = folder.path().join(format!("hurried-{time}"));
        let command = attach(pid, &recording, &[]);
        sleep(Duration::from_millis(20));
        command.end();
        hurried += counted(&recording);
    }
    assert!(hurried > 0);
    assert_eq!(ask(b'p'), "1", "all calls went well");
    asked.ends();
}

/// If a lock was acquired before recording began, this hold of it is not recorded. The report says
/// that there was such a lock.
#[test]
fn a_lock_that_is_held_already() {
    let program = Program::compile("locks_when_asked.c");
    let folder = scratch();
    let recording = folder.path().join("recording");
    let mut asked = Asked::start(&mut Command::new(program.path()));
    assert_eq!(asked.ask(b'l'), "0");
    let command = attach(asked.child.id(), &recording, &[]);
    let answers = b"ulu".map(|what| asked.ask(what));
    command.end();
    assert_eq!(answers, ["0", "0", "0"]);
    let file = ProcessFile::open(&process_files(&recording).expect("a recording")[0]);
    let file = file.expect("it is whole");
    assert_eq!((file.header.acquired_before, counted(&recording)), (1, vec![1]));
    let report = Command::new(syncline()).arg("report").arg(&recording).output().expect("it runs");
    let said = String::from_utf8_lossy(&report.stdout);
    assert!(said.contains("acquired before recording began"), "{said}");
    asked.ends();
}

/// Syncline does not use what it has read about one program when the process executes another.
#[test]
fn a_process_that_executes_other_programs() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/executes.sh");
    let folder = scratch();
    let attached_after = |milliseconds: u64| {
        let mut process = Command::new("sh").args([script, "120"]).spawn().expect("a shell");
        sleep(Duration::from_millis(milliseconds));
        let recording = folder.path().join(milliseconds.to_string());
        let output =
            record(process.id(), &recording).args(["--for", "1s"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("attached to process"), "{said}");
        // Syncline may attach while the next-to-last program runs. The last program then replaces
        // that program.
        assert!(said.contains("detached") || said.contains("has ended"), "{said}");
        let status = process.wait().expect("it ends");
        assert!(status.success(), "after {milliseconds} ms: {status}; {said}");
    };
    // All processes run at the same time, since each spends most of its time asleep in its last
    // program.
    scope(|all| {
        for milliseconds in [10, 20, 30, 40, 50, 60] {
            let attached_after = &attached_after;
            all.spawn(move || attached_after(milliseconds));
        }
    });
}

/// Processes that the program forks during a recording are recorded, and Syncline detaches from
/// them when it detaches from the first process. If the command is killed, the next `record -p`
/// detaches from them.
#[test]
fn processes_that_are_forked() {
    let program = Program::compile("forks.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    let pid = asked.child.id();
    let mut ask = |what: u8| asked.ask(what).parse::<usize>().expect("a number");
    assert_eq!(ask(b'r'), 1);
    let killed = folder.path().join("killed");
    let mut command = attach(pid, &killed, &[]);
    assert_eq!((ask(b'f'), ask(b'r')), (1, 2));
    command.child.kill().and_then(|()| command.child.wait().map(drop)).expect("it is killed");
    let recording = folder.path().join("recording");
    let command = attach(pid, &recording, &[]);
    assert_eq!(ask(b'r'), 2, "the second is not recorded any more");
    assert_eq!((ask(b'f'), ask(b'r')), (2, 3), "nor is the third, which the second forks");
    command.end();
    assert_eq!((counted(&killed), counted(&recording)), (vec![1000, 1000], vec![2000]));

    let last = eventually("the chain", || {
        let mut last = pid;
        while let Ok(children) =
            std::fs::read_to_string(format!("/proc/{last}/task/{last}/children"))
            && let Ok(next) = children.trim().parse()
        {
            last = next;
        }
        (last != pid).then_some(last)
    });
    let recording = folder.path().join("last");
    let command = attach(last, &recording, &[]);
    assert_eq!((ask(b'f'), ask(b'f'), ask(b'r')), (3, 4, 5));
    command.end();
    let said = std::fs::read_to_string(recording.with_extension("said")).expect("it says so");
    assert!(said.contains("also detached from 2 processes that the process has forked"), "{said}");
    assert_eq!(ask(b'r'), 5);
    assert_eq!(counted(&recording), [1000; 3]);
    asked.ends();
}

/// A program with threads that come and go, small stacks, signals, libraries that it opens and
/// closes, forks, other programs that it executes, and waits of all kinds. It checks itself, and
/// prints at its end whether everything was right.
#[test]
fn a_program_that_does_everything() {
    let program = Program::compile("restless.c");
    let library = Program::compile_with("opened.c", &["-shared", "-fPIC"]);
    let folder = scratch();
    let mut command = Command::new(program.path());
    command.arg(library.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    sleep(Duration::from_millis(200));
    for time in 0..times(6) {
        let recording = folder.path().join(time.to_string());
        let command = attach(child.id(), &recording, &["--every", "0.1s"]);
        sleep(Duration::from_millis(300));
        command.end();
        assert!(child.try_wait().expect("it is ours").is_none(), "it goes on");
        assert!(!stopped(child.id()));
        let files = process_files(&recording).expect("a recording");
        for file in files {
            ProcessFile::open(&file).expect("it is whole");
        }
        std::fs::remove_dir_all(&recording).expect("it is ours");
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.ends_with("all right\n"), "{said}");
}
