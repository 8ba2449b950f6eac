//! The thread that Syncline borrows goes on with everything it had.

use std::process::Command;

use syncline_conformance::{Program, scratch};

use crate::attach;
use crate::changing::Asked;

/// A thread in a system call keeps its vector registers, also on a processor whose extended state
/// has parts that the program may not use, such as tiles.
#[test]
fn vector_registers_are_kept() {
    let program = Program::compile("vectors.c");
    let folder = scratch();
    let mut asked = Asked::start(&mut Command::new(program.path()));
    assert_eq!(asked.ask(b'?'), "same");
    let command = attach(asked.child.id(), &folder.path().join("recording"), &[]);
    assert_eq!(asked.ask(b'?'), "same", "attaching");
    command.end();
    assert_eq!(asked.ask(b'?'), "same", "detaching");
    asked.ends();
}
