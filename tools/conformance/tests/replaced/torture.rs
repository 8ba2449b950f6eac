//! Mutexes, reader-writer locks and condition variables under pressure, with every lock that can
//! replace them.

use syncline_conformance::{Case, Program};

use crate::{pairs, parking, replacements};

fn torture(locks: &str, rounds: u32, threads: u32) {
    let case = Case::new(&Program::compile("replaced_torture.c"));
    let case = case.arg(rounds.to_string()).arg(threads.to_string()).limit(120);
    let outcome = case.replaced(locks);
    let sum = u64::from(threads / 2) * u64::from(rounds) * u64::from(rounds + 1) / 2;
    let sections = threads * rounds;
    let expected = format!(
        "{} turns\n0 in the queue, sum {sum}\n{} gates\n{} cancelled\n{sections} sections\n\
         {} written\n",
        2 * rounds,
        rounds / 20,
        rounds / 50,
        threads / 2 * rounds,
    );
    assert_eq!(outcome.behaviour(), expected, "{locks}");
    let output = String::from_utf8_lossy(&outcome.stdout);
    assert!(output.contains("@owner 0"), "{locks} did not replace the mutex");
    let shared = locks.contains("+rw_");
    assert_eq!(output.contains("@writer 0"), shared, "{locks} and the reader-writer lock");
}

#[test]
fn two_threads_under_every_lock() {
    for locks in replacements(false) {
        torture(locks, 200, 2);
    }
}

#[test]
fn two_threads_under_every_lock_that_can_be_shared() {
    for locks in replacements(true) {
        torture(&format!("gate+{locks}"), 200, 2);
    }
}

#[test]
fn sixty_four_threads_under_every_parking_lock() {
    for locks in parking(false) {
        torture(locks, 100, 64);
    }
    for locks in parking(true) {
        torture(&format!("gate+{locks}"), 100, 64);
    }
}

/// The thread that acquires an object last may destroy the object and unmap its memory, even if the
/// previous holder's unlock has not returned yet.
#[test]
fn objects_may_be_unmapped_after_the_last_unlock() {
    let program = Program::compile("replaced_gone.c");
    let case = Case::new(&program).arg("1000").arg("100");
    let plain = case.plain().behaviour();
    for locks in pairs() {
        assert_eq!(case.replaced(&locks).behaviour(), plain, "{locks}");
    }
}

/// A process forks while its threads wait for locks that the forking thread holds, as with handlers
/// of `pthread_atfork`. These waiters do not exist in the child, which must be able to use the
/// locks with threads of its own.
#[track_caller]
fn forks(locks: &str, children: u32, threads: u32, rounds: u32) {
    let library = Program::compile_with("replaced_fork_library.c", &["-shared", "-fPIC"]);
    let library = library.path().to_str().expect("a path of plain characters");
    let program = Program::compile_with("replaced_fork.c", &[library]);
    let numbers = [children, threads, rounds].map(|number| number.to_string());
    let outcome = Case::new(&program).args(numbers).limit(60).replaced(locks);
    assert_eq!(outcome.behaviour(), format!("{children} children\n"), "{locks}");
}

#[test]
fn locks_are_usable_in_a_forked_child() {
    for locks in parking(false) {
        forks(&format!("{locks}+rw_readers"), 5, 2, 100);
    }
    for locks in parking(true) {
        forks(&format!("gate+{locks}"), 5, 2, 100);
    }
}

/// Locks that spin or yield and serve waiters in turn need a processor for each thread, so only one
/// thread uses each lock here.
#[test]
fn locks_that_spin_are_usable_in_a_forked_child() {
    let awake = |shared| {
        let mut names = replacements(shared);
        names.retain(|name| !parking(shared).contains(name));
        names
    };
    for locks in awake(false) {
        forks(&format!("{locks}+rw_readers"), 3, 1, 10);
    }
    for locks in awake(true) {
        forks(&format!("gate+{locks}"), 3, 1, 10);
    }
}
