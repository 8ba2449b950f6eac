//! Recording programs with signals, thousands of threads and locks, stacks of their own, or other
//! allocators.

use std::path::Path;

use syncline_conformance::{Both, Case, Counter, Program};
use syncline_recording::Op;

fn case(source: &str, mode: &str) -> Case {
    Case::new(&Program::compile(source)).arg(mode)
}

/// Each operation of a handler is counted as itself or, if the handler interrupted the recorder, as
/// an "interrupted operation". The operation during which the handler ran is always counted.
#[test]
fn signal_handlers_that_post_and_trylock() {
    let both = case("signals.c", "post").both();
    both.truth.assert_counted(&both.recording);
    let process = both.recording.only();
    let of_handler = [
        (Op::SemPost, Counter::Calls),
        (Op::MutexTrylock, Counter::Calls),
        (Op::MutexTrylock, Counter::Refused),
    ];
    let count = |(op, counter)| both.recording.count(process.header.pid, 0, op, counter, None);
    let counted: u64 = of_handler.into_iter().map(count).sum();
    let interrupted = process.header.interrupted_operations;
    let done = 3 * both.truth.value("handled");
    assert_eq!(counted + interrupted, done, "{interrupted} interrupted the recorder");
}

#[test]
fn siglongjmp_out_of_a_handler() {
    case("signals.c", "jump").exact();
}

/// A handler that jumps out of the recorder may lose one operation, but no later one.
#[test]
fn siglongjmp_out_of_the_recorder() {
    let both = case("signals.c", "jump-out").both();
    both.truth.assert_counted(&both.recording);
    assert_eq!(both.recording.only().header.interrupted_operations, 0);
}

/// Runs a program that starts `total` threads, and checks that totals stay exact, even if new
/// threads take over the records of ended threads.
#[track_caller]
fn threads(mode: &str, total: u64) -> Both {
    let both = case("many.c", mode).exact();
    let process = both.recording.only();
    let lifetimes: u64 = process.threads.iter().map(|t| u64::from(t.record.lifetimes)).sum();
    assert_eq!(lifetimes, total + 1, "threads and the first one");
    assert_eq!(process.header.threads.dropped, 0);
    both
}

#[test]
fn two_hundred_short_lived_threads() {
    let both = threads("threads", 200);
    assert_eq!(both.recording.only().threads.len(), 201);
}

#[test]
fn ten_thousand_short_lived_threads() {
    threads("thousands-of-threads", 10_000);
}

#[test]
fn a_thousand_threads_at_once() {
    threads("at-once", 1000);
}

#[test]
fn threads_that_the_c_library_does_not_know() {
    Case::new(&Program::compile("own_threads.c")).exact();
}

#[test]
fn three_thousand_locks_held_at_once() {
    case("many.c", "nested").exact();
}

#[test]
fn a_hundred_thousand_mutexes() {
    case("many.c", "distinct").exact();
}

#[test]
fn a_few_hundred_mutexes_are_counted_exactly() {
    case("many.c", "few").exact();
}

/// If a call site has thousands of locks, the total of its acquisitions is exact, but the count of
/// each lock is an estimate. Here the count of a lock that is taken 1.5 million times is estimated
/// from some 12,000 samples.
#[test]
fn acquisitions_of_one_lock_of_thousands_are_estimated() {
    let both = case("many.c", "uneven").exact();
    let (hot, truth) = (both.truth.value("hot"), both.truth.value("uses_of_hot"));
    let rows = both.recording.rows(Op::MutexLock, hot);
    assert!(rows.iter().all(|row| row.sampled));
    let seen: u64 = rows.iter().map(|row| row.counts.calls).sum();
    let error = seen as f64 / truth as f64 - 1.0;
    // The standard error is below 1 %.
    assert!(error.abs() < 0.05, "{seen} recorded, {truth} done");
    let timed: u32 = rows.iter().map(|row| row.counts.held_samples).sum();
    assert!((9_000..16_000).contains(&timed), "{timed} timed");
    let rows: usize = both.recording.only().threads.iter().map(|t| t.rows.len()).sum();
    assert!(rows < 40_000, "{rows} rows");
}

/// The same for refused tries: their sum is exact, and the count of each lock is an estimate.
#[test]
fn refused_tries_of_one_lock_of_thousands_are_estimated() {
    let both = case("many.c", "uneven-tries").exact();
    let (hot, truth) = (both.truth.value("hot"), both.truth.value("uses_of_hot"));
    let rows = both.recording.rows(Op::MutexTrylock, hot);
    let waits = rows.iter().filter_map(|row| row.waits.as_deref());
    let seen: u64 = waits.map(|waits| waits.refused).sum();
    let error = seen as f64 / truth as f64 - 1.0;
    // The standard error is below 2 %.
    assert!(error.abs() < 0.1, "{seen} recorded, {truth} done");
}

/// A program may have a condition variable in each of its objects and hardly ever wait for one. So
/// a call site that creates many condition variables has few rows for them. Together, these rows
/// count all of them.
#[test]
fn fifty_thousand_condition_variables() {
    let both = case("many.c", "conditions").exact();
    let rows: usize = both.recording.only().threads.iter().map(|t| t.rows.len()).sum();
    assert!(rows < 2_100, "{rows} rows");
}

#[test]
fn twenty_thousand_stack_depths() {
    let both = case("many.c", "depths").exact();
    let rows: usize = both.recording.only().threads.iter().map(|t| t.rows.len()).sum();
    assert!(rows < 25_000, "{rows} rows");
}

#[test]
fn coroutines_alternate_stacks_and_tiny_stacks() {
    Case::new(&Program::compile("coroutines.c")).exact();
}

#[test]
fn a_program_whose_own_malloc_locks() {
    Case::new(&Program::compile("own_malloc.c")).exact();
}

/// Under recording, no lock function calls a function that a program can replace, neither before
/// the program has acquired the lock nor while it holds it. That is true even of the first lock of
/// a process, of a thread and of a forked child.
#[test]
fn a_program_whose_own_functions_lock() {
    let (program, library) = Program::with_library("own_functions.cpp");
    let case = Case::new(&program).arg(library.path()).arg("strict").limit(10);
    case.both().recording.assert_complete();
}

#[test]
fn malloc_of_glibc() {
    Case::new(&Program::compile("allocations.c")).exact();
}

/// Runs four programs with another allocator in `LD_PRELOAD`, with and without recording.
#[track_caller]
fn with_allocator(library: &str) {
    let path = Path::new("/usr/lib/x86_64-linux-gnu").join(library);
    assert!(path.exists(), "{} is missing: run ./x setup", path.display());
    for source in ["allocations.c", "mutex_threads.c", "fork_server.c"] {
        Case::new(&Program::compile(source)).env("LD_PRELOAD", &path).exact();
    }
    // The allocator's own destructors take locks after counting has ended.
    let both = Case::new(&Program::compile("threads.c")).arg("3").env("LD_PRELOAD", &path).both();
    both.truth.assert_counted(&both.recording);
}

#[test]
fn preloaded_jemalloc() {
    with_allocator("libjemalloc.so.2");
}

#[test]
fn preloaded_tcmalloc() {
    with_allocator("libtcmalloc_minimal.so.4");
}
