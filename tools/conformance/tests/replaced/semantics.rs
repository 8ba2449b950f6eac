//! The outcomes of calls when a program's locks are replaced: error numbers, mutex types,
//! initialisers, deadlines, cancellation, and forks.

use syncline_conformance::{Case, Outcome, Program};

use crate::{parking, replacements};

/// The output of a program without the bytes of its objects, which the replacing locks use in their
/// own way.
fn outcomes(run: &Outcome) -> String {
    let line = |line: &str| {
        let is_bytes = |words: &str| {
            words.split(' ').all(|w| {
                let digits = w.strip_suffix("+tid").unwrap_or(w);
                digits == "*" || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit())
            })
        };
        match line.split_once(": ") {
            Some((what, words)) if is_bytes(words) => format!("{what}\n"),
            _ => format!("{line}\n"),
        }
    };
    run.behaviour().lines().map(line).collect()
}

/// Checks that a program prints the same outcomes by itself and under each of these locks.
#[track_caller]
fn assert_same_outcomes(program: &str, locks: &[&str]) {
    let case = Case::new(&Program::compile_with(program, &["-lm"]));
    let plain = outcomes(&case.plain());
    assert!(!plain.is_empty());
    for locks in locks {
        let replaced = outcomes(&case.replaced(locks));
        let lines = plain.lines().zip(replaced.lines()).enumerate();
        for (number, (plain, replaced)) in lines {
            assert_eq!(plain, replaced, "{program} with {locks}, line {}", number + 1);
        }
        assert_eq!(plain.lines().count(), replaced.lines().count(), "{program} with {locks}");
    }
}

/// A lock of each kind: in the object with and without a queue node, behind a pointer, and with
/// waiters that can or can't give up.
const FORMS: [&str; 5] = ["gate", "mcs-yield", "ticket-spin", "hmcs-park", "clh_timed-park"];

#[test]
fn every_kind_of_mutex() {
    assert_same_outcomes("mutex_kinds.c", &FORMS);
}

#[test]
fn errno_and_c11_mutexes_under_every_lock() {
    assert_same_outcomes("errno.c", &replacements(false));
    assert_same_outcomes("c11.c", &parking(false));
}

/// The program provokes each error that POSIX defines in its manual pages, and each error that only
/// the C library has.
#[test]
fn every_error_under_every_lock() {
    let shared = replacements(true).into_iter().map(|lock| format!("gate+{lock}"));
    let locks: Vec<String> =
        replacements(false).into_iter().map(str::to_owned).chain(shared).collect();
    let mut names: Vec<&str> = locks.iter().map(String::as_str).collect();
    names.extend(["libc", "libc-spin"]);
    assert_same_outcomes("posix_errors.c", &names);
}

/// The program uses deadlines before 1970, several mutexes for one condition variable,
/// reader-writer locks that prefer writers, and all keys of thread-specific data.
#[test]
fn rarer_calls_under_every_lock_that_can_be_shared() {
    let pairs = replacements(true).into_iter().zip(FORMS.iter().cycle());
    let locks: Vec<String> = pairs.map(|(shared, lock)| format!("{lock}+{shared}")).collect();
    assert_same_outcomes("posix_corners.c", &locks.iter().map(String::as_str).collect::<Vec<_>>());
}

/// The only outcome that differs from the C library's, as `docs/exec.md` says. While a thread waits
/// for a condition variable that processes share, all mutexes with which threads wait must be
/// Syncline's, or all must be the C library's.
#[test]
fn a_second_mutex_of_the_other_kind_is_refused_while_processes_share() {
    let case = |outcome| Case::new(&Program::compile("cond_shared.c")).arg(outcome).limit(20);
    let plain = case("ETIMEDOUT").plain();
    let text = plain.behaviour();
    assert_eq!(text.matches("the second mutex: as expected").count(), 4, "{text}");
    for locks in FORMS {
        assert_eq!(case("EINVAL").replaced(locks).behaviour(), text, "{locks}");
    }
    for libc in ["libc", "libc-spin"] {
        let theirs = case("ETIMEDOUT").replaced(libc).behaviour();
        assert_eq!(theirs, text, "{libc}");
    }
}

#[test]
fn robust_mutexes_are_left_alone() {
    assert_same_outcomes("mutex_robust.c", &["gate", "mcs-yield", "hmcs-park", "libc-spin"]);
}

#[test]
fn condition_variables() {
    assert_same_outcomes("cond.c", &["gate", "mcs-park", "hmcs-park", "tas-park"]);
}

#[test]
fn rwlocks() {
    assert_same_outcomes("rwlock.c", &replacements(true));
}

#[test]
fn spinlocks() {
    assert_same_outcomes("spin_barrier.c", &FORMS);
}

#[test]
fn cancellation() {
    assert_same_outcomes("cancel.c", &FORMS);
}

#[test]
fn errors_of_the_loader_are_kept() {
    assert_same_outcomes("dlerror.c", &["gate+rw_compact"]);
}

#[test]
fn cpp() {
    assert_same_outcomes("cxx.cpp", &["gate+rw_readers", "mcs-park+rw_compact"]);
}

#[test]
fn processes() {
    for program in ["fork_server.c", "fork_storm.c", "shared.c", "constructors.c", "spawning.c"] {
        assert_same_outcomes(program, &["gate+rw_readers", "mcs-park", "clh-park"]);
    }
}

#[test]
fn threads_that_the_c_library_does_not_know() {
    let shared = replacements(true).into_iter().zip(FORMS.iter().cycle());
    let locks: Vec<String> = shared.map(|(shared, lock)| format!("{lock}+{shared}")).collect();
    let names: Vec<&str> = locks.iter().map(String::as_str).collect();
    assert_same_outcomes("own_threads.c", &names);
}

/// The program has its own allocator, which locks. Syncline's memory must not come from this
/// allocator.
#[test]
fn allocators_that_lock() {
    assert_same_outcomes("own_malloc.c", &["gate", "ttas-yield", "mcs-park", "clh_timed-park"]);
}

/// The program has functions of its own that acquire locks: an allocator, `close`, `getenv`,
/// `dlsym` and others.
#[test]
fn functions_of_the_program_that_lock() {
    let (program, library) = Program::with_library("own_functions.cpp");
    let case = Case::new(&program).arg(library.path()).arg("strict").limit(10);
    for locks in ["gate", "ttas-yield", "mcs-park", "clh_timed-park", "hmcs-park+rw_fair-park"] {
        assert_eq!(case.plain().behaviour(), case.replaced(locks).behaviour(), "{locks}");
    }
}

/// Objects that can't be replaced keep exactly the C library's bytes, no matter which lock the
/// other objects get.
#[test]
fn unreplaced_objects_keep_their_bytes() {
    let case = Case::new(&Program::compile_with("mutex_kinds.c", &["-lm"]));
    let left = |run: &Outcome| {
        let text = run.behaviour();
        let mutexes: Vec<String> = text.split("type ").skip(1).map(str::to_owned).collect();
        assert_eq!(mutexes.len(), 48);
        mutexes.into_iter().filter(|m| !m.contains("protocol 0 robust 0 shared 0")).collect()
    };
    let plain: Vec<String> = left(&case.plain());
    assert_eq!(plain.len(), 44);
    for locks in ["gate", "mcs-yield", "hmcs-park"] {
        let replaced: Vec<String> = left(&case.replaced(locks));
        for (plain, replaced) in plain.iter().zip(&replaced) {
            // The text of the last mutex is followed by the static mutexes, which are replaced.
            let end = |text: &str| text.split("static ").next().map(str::to_owned);
            assert_eq!(end(plain), end(replaced), "{locks}");
        }
    }
}
