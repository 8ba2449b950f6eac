//! Processes that were forked while a thread of their parent was in the loader. In such a process
//! the loader's lock is held for ever, since the thread that holds it does not exist there.

use std::fs::{self, File};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::{Duration, Instant};

use syncline_conformance::{Program, preload_library, scratch};
use syncline_recording::live::State;

use crate::changing::{Asked, counted};
use crate::{attach, record, stopped};

/// Syncline detaches from such processes without the loader's lock. This holds even for a process
/// that was forked without the C library, and for one that has started threads since. If the
/// process with threads has opened a library, the lock is needed, and Syncline gives up the call
/// that waits for the lock.
#[test]
fn processes_that_have_the_loaders_lock_for_ever() {
    let program = Program::compile("forks_in_loader.c");
    let library = Program::compile_with("opened.c", &["-shared", "-fPIC"]);
    let without = time_to_leave(&mut Command::new(program.path()));
    let with = time_to_leave(Command::new(program.path()).arg(library.path()));
    assert!(with > Duration::from_secs(2) && with > without, "{with:?}, else {without:?}");
}

/// The time that Syncline takes to detach from a process and from its three children. The process
/// has forked the children while one of its threads held the loader's lock.
fn time_to_leave(program: &mut Command) -> Duration {
    let folder = scratch();
    let mut asked = Asked::start(program);
    let recording = folder.path().join("recording");
    let command = attach(asked.child.id(), &recording, &[]);
    asked.ask(b'h');
    let forked: Vec<u32> =
        b"fct".iter().map(|&how| asked.ask(how).parse().expect("a process")).collect();
    asked.ask(b'l');
    assert_eq!(asked.ask(b'r'), "3", "they are recorded");
    let began = Instant::now();
    command.end();
    let time = began.elapsed();
    assert!(time < Duration::from_secs(12), "none is waited for for ever");
    let said = fs::read_to_string(recording.with_extension("said")).expect("it says so");
    assert!(said.contains("also detached from 3 processes that the process has forked"), "{said}");
    assert!(!forked.iter().any(|&pid| stopped(pid)));
    assert_eq!(asked.ask(b'r'), "3", "they go on, and are not recorded any more");
    assert_eq!(counted(&recording).iter().sum::<u64>(), 3000);
    asked.ends();
    time
}

/// Syncline makes a page writable while it changes the page's contents. Even if the process forks
/// at that moment, the page must be read-only in the child after Syncline has detached.
#[test]
fn a_page_that_was_open_when_a_process_was_forked() {
    let program = Program::compile("opens_later.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    let pid = asked.child.id();
    let page = asked.ask(b'w');
    let address = u64::from_str_radix(&page, 16).expect("hex");
    let maps = || fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    let access = || maps().lines().find(|line| line.starts_with(&page)).map(str::to_owned);
    let command = attach(pid, &folder.path().join("recording"), &[]);
    assert!(access().is_some_and(|line| line.contains(" rw-p ")));
    // Gives the recorder the state that it would have in a child that was forked at that moment.
    let start = maps().lines().find(|line| line.contains("memfd:syncline-recorder")).map(|line| {
        u64::from_str_radix(line.split('-').next().expect("a range"), 16).expect("hex")
    });
    let listing = Command::new("nm").arg("-D").arg(preload_library()).output().expect("nm");
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let state =
        listing.lines().find(|line| line.ends_with(" syncline_live_state")).expect("it is there");
    let state = u64::from_str_radix(state.split(' ').next().expect("an address"), 16).expect("hex");
    let at = start.expect("the recorder") + state + offset_of!(State, open) as u64;
    let memory = File::options().write(true).open(format!("/proc/{pid}/mem")).expect("it is ours");
    memory.write_all_at(&address.to_ne_bytes(), at).expect("it is mapped");
    command.end();
    assert!(access().is_some_and(|line| line.contains(" r--p ")));
    asked.ends();
}

/// In a process that was forked while the loader's lock was held, the recorder can't be opened: the
/// command says so, and the process is as before.
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
