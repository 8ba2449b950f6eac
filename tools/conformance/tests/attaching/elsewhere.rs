//! Attaching to processes in other namespaces: mount, user and PID namespaces.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use syncline_conformance::{Program, scratch};
use syncline_recording::{ProcessFile, Samples, process_files};

use crate::changing::Asked;
use crate::refused::says_still_runs;
use crate::{ROUND, Running, attach, counted};

/// A command that starts a program in mount, user and PID namespaces of its own, with a `/tmp` of
/// its own; `None` if this system does not allow that.
fn elsewhere(program: &Path) -> Option<Command> {
    const INSIDE: &str = "mount -t tmpfs none /tmp && exec \"$0\"";
    let start = |program: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--user", "--map-root-user", "--fork", "--mount-proc"]);
        command.args(["--kill-child", "sh", "-c", INSIDE]).arg(program);
        command
    };
    let works = start(Path::new("true")).output();
    if !works.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this system lets nobody make user namespaces");
        return None;
    }
    Some(start(program))
}

/// The only child of a process.
fn child_of(pid: u32) -> u32 {
    let child = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    child.expect("its child").trim().parse().expect("one child")
}

#[test]
fn a_process_in_other_namespaces() {
    if elsewhere(Path::new("true")).is_none() {
        return;
    }
    let folder = scratch();
    let mut running = Running::start_by(|program| elsewhere(program).expect("it just worked"));
    running.pid = child_of(running.child.id());
    for time in 1..=2 {
        let recording = folder.path().join(time.to_string());
        let command = running.attach(&recording);
        (0..time).for_each(|_| running.round());
        let file = ProcessFile::open(&process_files(&recording).expect("a file")[0]);
        let file = file.expect("it is whole");
        assert_eq!(file.header.pid, 1, "as it calls itself");
        assert!(file.now.is_some(), "and it is seen to run");
        let busy = |thread: &&syncline_recording::Thread| thread.record.left_cpu_ns > 0;
        assert!(file.threads.iter().filter(busy).count() >= 4, "its threads as well");
        command.end();
        assert_eq!(counted(&recording, running.lock), time * ROUND);
        assert!(says_still_runs(&recording));
    }
}

/// Samples identify processes and threads by their numbers in their own namespace, as the recording
/// does.
#[test]
fn samples_of_processes_in_another_namespace() {
    let program = Program::compile("forks.c");
    let Some(mut command) = elsewhere(program.path()) else { return };
    let folder = scratch();
    let mut asked = Asked::start(&mut command);
    assert_eq!(asked.ask(b'r'), "1", "it runs");
    let recording = folder.path().join("recording");
    let command = attach(child_of(asked.child.id()), &recording, &[]);
    assert_eq!((asked.ask(b'f'), asked.ask(b'r')), ("1".to_owned(), "2".to_owned()));
    // From now on, both processes wait in `read`.
    sleep(Duration::from_secs(3));
    command.end();
    let samples = Samples::read(&recording).expect("samples").expect("there are some");
    if let Some(why) = samples.refused {
        eprintln!("not tested: the kernel refuses samples: {why}");
        return;
    }
    let files = process_files(&recording).expect("a recording");
    let files = files.iter().map(|file| ProcessFile::open(file).expect("it is whole"));
    let recorded = files.map(|file| (file.header.pid, vec![file.threads[0].record.tid]));
    let sampled = samples.processes.iter().map(|process| {
        let asleep = process.threads.iter().filter(|thread| !thread.slept.is_empty());
        (process.pid, asleep.map(|thread| thread.tid).collect())
    });
    let (recorded, sampled): (Vec<_>, Vec<_>) = (recorded.collect(), sampled.collect());
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded, sampled);
    asked.ends();
}
