//! The thread that `syncline record -p` borrows in a process keeps its registers and its stack.

use std::process::Command;

use syncline_conformance::{Program, scratch};

use crate::attach;
use crate::changing::Asked;

/// Checks that the program gives this answer before Syncline attaches, while it is attached, and
/// after it has detached.
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

/// A borrowed thread, which waits in a system call, keeps its vector registers. This holds even if
/// the processor's extended state has parts that the program may not use, such as tiles.
#[test]
fn a_borrowed_thread_keeps_its_vector_registers() {
    let program = Program::compile("vectors.c");
    always_answers(Asked::start(&mut Command::new(program.path())), "same", "vectors");
}

/// A borrowed thread keeps its tiles (the registers of AMX). Syncline saves these 8 KiB in its
/// frame on the thread's stack. If the stack is too small for the frame, Syncline borrows another
/// thread.
#[test]
fn a_borrowed_thread_keeps_its_tile_registers() {
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

/// The kernel extends the first thread's stack only when the thread touches it. Syncline's frame
/// may be below everything that the thread has touched.
#[test]
fn a_stack_that_has_not_grown_yet() {
    let program = Program::compile("deep_stack.c");
    always_answers(Asked::start(&mut Command::new(program.path())), "?", "a deep stack");
}
