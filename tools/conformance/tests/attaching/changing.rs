//! Programs that change while they are attached to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use syncline_conformance::{Program, scratch};
use syncline_recording::{Op, ProcessFile, process_files};

use crate::{attach, stopped, times};

/// A library that is opened after attaching is recorded as well, if it is there long enough to be seen;
/// after detaching, its calls go where they went.
#[test]
fn a_library_that_is_opened_later() {
    let program = Program::compile("opens_later.c");
    let library = Program::compile_with("opened.c", &["-shared", "-fPIC"]);
    let folder = scratch();
    let mut command = Command::new(program.path());
    command.arg(library.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut input = child.stdin.take().expect("a pipe");
    let mut ask = |what: &[u8]| {
        input.write_all(what).expect("it reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    };
    assert_eq!(ask(b"r"), "none");
    for time in 0..2 {
        let recording = folder.path().join(time.to_string());
        let command = attach(child.id(), &recording, &[]);
        assert_eq!(ask(b"o"), "opened");
        // It is looked for ten times a second, and thrice.
        sleep(Duration::from_millis(1500));
        assert_eq!(ask(b"r"), "1000");
        command.end();
        assert_eq!(ask(b"r"), "1000");
        assert_eq!(ask(b"c"), "closed");
        let files = process_files(&recording).expect("a recording");
        let file = ProcessFile::open(&files[0]).expect("it is whole");
        let rows = file.threads.iter().flat_map(|thread| &thread.rows);
        let locks = rows.filter(|row| row.op == Op::MutexLock).map(|row| row.counts.calls);
        assert_eq!(locks.max(), Some(1000));
    }
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

/// Threads that come and go, small stacks, signals, libraries opened and closed, forks, programs run, waits
/// of all kinds: the program checks itself, and says at its end that all was right.
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
