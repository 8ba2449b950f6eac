//! What recording must not do besides: show in the process, or make system calls where a
//! place is known.

use syncline_conformance::{Case, Program};

#[test]
fn nothing_of_the_process_changes() {
    Case::new(&Program::compile_with("footprint.c", &["-lm"])).exact();
}

/// The kernel kills the program at the first system call that is not its own.
#[test]
fn known_places_need_no_system_call() {
    Case::new(&Program::compile("sandbox.c")).exact();
}
