//! Processes that were forked while a thread of their parent was in the loader: its lock stays held there
//! for ever, by a thread that they don't have.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use syncline_conformance::{Program, scratch};

use crate::changing::{Asked, counted};
use crate::{attach, record, stopped};

/// They are detached from without that lock: also one that the program has made without the C library, and
/// one that has threads of its own by now, where the call that waits for the lock is given up.
#[test]
fn processes_that_have_the_loaders_lock_for_ever() {
    let program = Program::compile("forks_in_loader.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    let recording = folder.path().join("recording");
    let command = attach(asked.child.id(), &recording, &[]);
    asked.ask(b'h');
    let forked: Vec<u32> =
        b"fct".iter().map(|&how| asked.ask(how).parse().expect("a process")).collect();
    asked.ask(b'l');
    assert_eq!(asked.ask(b'r'), "3", "they are recorded");
    let began = Instant::now();
    command.end();
    assert!(began.elapsed() < Duration::from_secs(12), "none is waited for for ever");
    let said = fs::read_to_string(recording.with_extension("said")).expect("it says so");
    assert!(said.contains("detached also from 3 processes that it has forked"), "{said}");
    assert!(!forked.iter().any(|&pid| stopped(pid)));
    assert_eq!(asked.ask(b'r'), "3", "they go on, and are not recorded any more");
    assert_eq!(counted(&recording).iter().sum::<u64>(), 3000);
    asked.ends();
}

/// Such a process can't open the recorder: the command says so, and the process is as before.
#[test]
fn a_process_that_can_open_no_library() {
    let program = Program::compile("forks_in_loader.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    asked.ask(b'h');
    let forked: u32 = asked.ask(b'f').parse().expect("a process");
    asked.ask(b'l');
    let output = record(forked, &folder.path().join("recording")).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("waited 2 s for a lock"), "{said}");
    assert!(!stopped(forked));
    assert_eq!(asked.ask(b'r'), "1", "it goes on");
    asked.ends();
}
