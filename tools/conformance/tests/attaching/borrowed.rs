//! The thread that Syncline borrows goes on with everything it had.

use std::process::Command;

use syncline_conformance::{Program, scratch};

use crate::attach;
use crate::changing::Asked;

/// Checks that the program gives this answer before, while and after it is attached to.
#[track_caller]
fn always_answers(mut asked: Asked, answer: &str, of: &str) {
    let folder = scratch();
    assert_eq!(asked.ask(b'?'), answer, "before, {of}");
    let command = attach(asked.child.id(), &folder.path().join("recording"), &[]);
    assert_eq!(asked.ask(b'?'), answer, "attaching, {of}");
    command.end();
    assert_eq!(asked.ask(b'?'), answer, "detaching, {of}");
    asked.ends();
}

/// A thread in a system call keeps its vector registers, also on a processor whose extended state
/// has parts that the program may not use, such as tiles.
#[test]
fn vector_registers_are_kept() {
    let program = Program::compile("vectors.c");
    always_answers(Asked::start(&mut Command::new(program.path())), "same", "vectors");
}

/// A thread in a system call keeps its tiles: 8 KiB that the frame on its stack must hold. Where the
/// stack is too small for that, another thread is borrowed.
#[test]
fn tiles_are_kept() {
    let program = Program::compile("tiles.c");
    for arguments in [&[] as &[&str], &["65536"], &["16384"]] {
        let mut command = Command::new(program.path());
        command.args(arguments);
        let mut asked = Asked::start(&mut command);
        if asked.line() == "none" {
            eprintln!("skipped: the processor or the kernel has no tiles (AMX)");
            return;
        }
        always_answers(asked, "same", &format!("tiles {arguments:?}"));
    }
}

/// The kernel makes the first thread's stack longer only when the thread touches it. The frame may
/// lie below what the thread has touched.
#[test]
fn a_stack_that_has_not_grown_yet() {
    let program = Program::compile("deep_stack.c");
    always_answers(Asked::start(&mut Command::new(program.path())), "?", "a deep stack");
}
