//! Recording counts every operation exactly, and changes neither its effect nor its result.
//!
//! The programs print the results of their calls, and some of them the bytes of their objects,
//! which must be the same under recording. Most programs also print how often they did each
//! operation, and the recording must have the same numbers.

use syncline_conformance::{Case, Program};
use syncline_recording::{Op, Row};

#[track_caller]
fn exact(source: &str) {
    Case::new(&Program::compile(source)).exact();
}

/// Rare calls have the same results under recording, and the program can use all keys of
/// thread-specific data.
#[test]
fn rarer_calls_and_all_keys() {
    Case::new(&Program::compile("posix_corners.c")).both().recording.assert_complete();
}

#[test]
fn mutexes_of_every_kind() {
    exact("mutex_kinds.c");
}

#[test]
fn mutexes_whose_owner_dies() {
    exact("mutex_robust.c");
}

#[test]
fn mutexes_under_contention() {
    exact("mutex_threads.c");
}

#[test]
fn functions_that_the_program_asks_the_c_library_for() {
    exact("asks_libc.c");
}

#[test]
fn reader_writer_locks() {
    exact("rwlock.c");
}

#[test]
fn spinlocks_and_barriers() {
    exact("spin_barrier.c");
}

#[test]
fn semaphores() {
    exact("semaphore.c");
}

#[test]
fn yields_and_sleeps() {
    exact("pause.c");
}

#[test]
fn condition_variables() {
    exact("cond.c");
}

#[test]
fn cancellation_and_exit_from_within() {
    exact("cancel.c");
}

#[test]
fn errors_of_the_loader_are_kept() {
    exact("dlerror.c");
}

#[test]
fn threads_and_their_destructors() {
    Case::new(&Program::compile("threads.c")).arg("3").exact();
}

/// Both calls of the wrapper are one place to the recorder.
#[test]
fn each_thread_has_the_stack_that_created_it() {
    let both = Case::new(&Program::compile("creators.c")).both();
    for name in ["first", "second"] {
        let thread = both.recording.thread(both.truth.value(&format!("{name}_thread")));
        let stack = both.recording.only().stack(thread.record.created_at);
        assert_eq!(stack.get(1), Some(&both.truth.value(&format!("{name}_site"))), "{name}");
    }
}

/// The calls of a wrapper at several lines of one function have one return address and one depth of
/// the stack. The recorder tells them apart once a call has been sampled or has had to wait, so a
/// line may have some calls of another one. The sums of the locks are exact.
#[test]
fn calls_of_a_wrapper_belong_to_their_lines() {
    const THREADS: u64 = 2;
    const ROUNDS: u64 = 20_000;
    const MISTAKEN: u64 = 2_000;
    let both = Case::new(&Program::compile("wrapper_lines.c")).both();
    both.truth.assert_counted(&both.recording);
    let process = both.recording.only();
    let rows = || process.threads.iter().flat_map(|thread| &thread.rows);
    for (line, rounds) in [ROUNDS, ROUNDS, ROUNDS / 2, ROUNDS, ROUNDS].into_iter().enumerate() {
        let line = both.truth.value(&format!("line_{line}"));
        let is_here = |row: &&Row| process.stack(row.counts.stack).contains(&line);
        let calls: u64 = rows().filter(is_here).map(|row| row.counts.calls).sum();
        assert!(calls.abs_diff(THREADS * rounds) <= MISTAKEN, "{calls} of {rounds} in each thread");
    }
}

/// The last round of destructors may run after the thread's counting has ended. Its operations then
/// count as dropped.
#[test]
fn locks_in_the_last_round_of_destructors() {
    let both = Case::new(&Program::compile("threads.c")).arg("4").both();
    both.truth.assert_counted(&both.recording);
    let counted = both.recording.calls(Op::MutexLock);
    let dropped = both.recording.only().header.dropped_operations;
    assert_eq!(counted + dropped, both.truth.value("destroyed"), "counted, or counted as dropped");
}

#[test]
fn c11_threads() {
    exact("c11.c");
}

#[test]
fn cxx_mutexes() {
    exact("cxx.cpp");
}

#[test]
fn cxx20_semaphores_latches_barriers_and_atomic_waits() {
    exact("cxx20.cpp");
}

#[test]
fn rust_std() {
    exact("rust_std.rs");
}

#[test]
fn parking_lot() {
    let program = env!("CARGO_BIN_EXE_parking_lot_program");
    Case::new(&Program::installed(program)).exact();
}

#[test]
fn openmp_by_gcc() {
    Case::new(&Program::compile_with("openmp.c", &["-fopenmp"])).exact();
}

#[test]
fn openmp_of_gcc_run_by_llvm() {
    let flags = ["-fopenmp", "-c"];
    let object = Program::compile_with("openmp.c", &flags);
    let linked = Program::link(&object, &["-pthread", "-l:libomp.so.5"]);
    Case::new(&linked).exact();
}

#[test]
fn openmp_of_clang() {
    let program = Program::compile_with("kmpc.c", &["-l:libomp.so.5"]);
    Case::new(&program).exact();
}

#[test]
fn errno_is_kept() {
    exact("errno.c");
}

#[test]
fn unusual_but_allowed_calls() {
    exact("odd.c");
}

#[test]
fn threads_that_libc_creates_itself() {
    exact("helpers.c");
}
