//! Tests of the memory that the replacing locks take, of the objects that keep the C library's
//! locks, and of requests that are refused.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use syncline_conformance::{
    Case, Outcome, Program, Truth, replace_library, run_limited, scratch, syncline,
};

/// The figures that `replaced_many.c` prints: kilobytes of memory and of address space, and the
/// number of mutexes that it has locked.
struct Many {
    resident: u64,
    mapped: u64,
    locked: u64,
}

fn many(locks: Option<&str>) -> Many {
    let case = Case::new(&Program::compile("replaced_many.c")).limit(60);
    let outcome = locks.map_or_else(|| case.plain(), |locks| case.replaced(locks));
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.trim().parse().expect("a number")
    };
    Many { resident: value("@resident"), mapped: value("@mapped"), locked: value("@locked") }
}

#[test]
fn three_hundred_thousand_mutexes_cost_next_to_nothing() {
    let plain = many(None);
    assert_eq!(plain.locked, 300_000);
    for (locks, most) in [("gate", 4 << 10), ("mcs-park", 4 << 10), ("clh-park", 4 << 10)] {
        let Many { resident, mapped, locked } = many(Some(locks));
        assert_eq!(locked, 300_000);
        assert!(
            resident < plain.resident + most,
            "{locks}: {resident} KiB, not {}",
            plain.resident
        );
        // The library itself takes 2 MiB. Address space is checked too, since some programs limit
        // theirs.
        assert!(mapped < plain.mapped + 2 * most, "{locks}: {mapped} KiB, not {}", plain.mapped);
    }
}

/// The memory that a thread keeps for queues is reused by other threads after the thread's end. The
/// stacks of ended threads, which the C library keeps, are in both figures that are compared.
#[test]
fn twelve_thousand_short_threads_leave_nothing_behind() {
    let case = Case::new(&Program::compile("replaced_short.c")).limit(60);
    let plain = case.plain().behaviour();
    let leaves_nothing = |locks: &str| {
        let outcome = case.replaced(locks);
        assert_eq!(outcome.behaviour(), plain, "{locks}");
        let truth = Truth::read(&outcome.stdout);
        let (soon, late) = (truth.value("soon"), truth.value("late"));
        assert!(late < soon + 512, "{locks}: {soon} KiB, and at the end {late}");
    };
    // With the first four choices, the lock itself allocates the queue nodes. With the last one,
    // each acquisition has its node on a line that the thread keeps. All choices run at the same
    // time, since their threads mostly wait for each other.
    thread::scope(|scope| {
        for locks in [
            "gate+rw_readers",
            "mcs_timed-park",
            "clh-park",
            "clh_timed-park",
            "mcs-park+rw_fair-park",
        ] {
            let leaves_nothing = &leaves_nothing;
            scope.spawn(move || leaves_nothing(locks));
        }
    });
}

/// Only a limited number of locks of the largest kind is created; the other mutexes keep the C
/// library's lock.
#[test]
fn large_locks_are_limited_in_number() {
    let plain = many(None);
    let Many { resident, mapped, locked } = many(Some("hmcs-park"));
    assert_eq!(locked, 300_000);
    let most = 210 << 10;
    assert!(
        resident < plain.resident + most,
        "{resident} KiB resident, {} without other locks",
        plain.resident
    );
    assert!(
        mapped < plain.mapped + most,
        "{mapped} KiB mapped, {} without other locks",
        plain.mapped
    );
}

/// Locks work in a process that may not map memory: an object whose lock would have to be allocated
/// keeps the C library's lock.
#[test]
fn programs_that_may_map_nothing() {
    let program = Program::compile("replaced_confined.c");
    let locks = ["gate+rw_readers", "mcs-yield+rw_fair", "hticket-park+rw_writers", "hmcs+rw_flag"];
    for (refused, when) in
        [("mmap", "first"), ("more", "first"), ("mmap", "later"), ("more", "later")]
    {
        let case = Case::new(&program).arg(refused).arg(when);
        let plain = case.plain().behaviour();
        for locks in locks {
            assert_eq!(case.replaced(locks).behaviour(), plain, "{locks}, {refused} {when}");
        }
    }
}

/// A reader that would overflow the lock's count of readers gets an error, and the program
/// continues.
#[test]
fn more_readers_than_a_lock_can_count_are_refused() {
    let case = Case::new(&Program::compile("replaced_readers.c")).limit(60);
    let plain = case.plain().behaviour();
    for locks in ["rw_readers", "rw_compact", "rw_flag", "rw_writers", "rw_fair"] {
        assert_eq!(case.replaced(locks).behaviour(), plain, "{locks}");
    }
}

/// Runs a program under `exec --report`. Returns the text of the report, and the program's outcome.
fn report(program: &Program, option: &str, value: &Path) -> (String, Outcome) {
    replace_library();
    let mut command = Command::new(syncline());
    command.args(["exec", "--report", option]).arg(value).arg("--").arg(program.path());
    let outcome = run_limited(&mut command, Duration::from_secs(60));
    outcome.assert_status(0);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.lines().all(|line| line.len() <= 100), "{said}");
    (said, outcome)
}

#[test]
fn locks_left_to_the_c_library_are_reported() {
    let program = Program::compile_with("mutex_kinds.c", &["-lm"]);
    let (said, _) = report(&program, "--lock", Path::new("gate"));
    // The program has 48 combinations: 4 types, 3 protocols, robust or not, shared or not. Robust
    // mutexes with a priority ceiling are not counted, since the C library refuses them.
    let left = "4 mutexes, 0 rwlocks and 0 spinlocks between processes,\n\
                syncline: 16 robust mutexes, 16 with a priority protocol, \
                0 spinlocks for lack of memory,\n\
                syncline: and 0 for";
    assert!(said.contains("initialised and replaced: 4 mutexes, 0 rwlocks, 0 "), "{said}");
    assert!(said.contains(left), "{said}");

    // Without a lock for mutexes, none is replaced.
    for locks in ["rw_readers", "libc", "libc-spin"] {
        let (said, _) = report(&program, "--lock", Path::new(locks));
        assert!(said.contains("initialised and replaced: 0 mutexes, 0 rwlocks, 0 "), "{said}");
        assert!(said.contains(&left.replace("and 0 for", "and 4 for")), "{said}");
    }
}

/// The counts must be exact with `--lock`, and with a policy that names the same locks.
#[test]
fn acquisitions_of_unreplaced_locks_are_counted_exactly() {
    let program = Program::compile("replaced_left.c");
    let folder = scratch();
    let policy = folder.path().join("policy.toml");
    fs::write(&policy, "version = 1\ndefault = \"gate+rw_readers\"\n").expect("a policy");
    let locks = Path::new("gate+rw_readers");
    for (option, value) in [("--lock", locks), ("--policy", policy.as_path())] {
        let (said, outcome) = report(&program, option, value);
        let truth = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let calls = truth.trim_end().strip_prefix("@calls ").expect("what the program says");
        assert!(
            said.contains(&format!(
                "{calls} of kinds that can't be replaced, 0 for lack of memory\n"
            )),
            "{said}"
        );
        let left = "1 mutex, 1 rwlock and 1 spinlock between processes,\n\
                    syncline: 2 robust mutexes, 1 with a priority protocol, \
                    0 spinlocks for lack of memory,\n\
                    syncline: and 0 for";
        assert!(said.contains(left), "{said}");
    }
}

/// The report counts a spinlock between processes as left to the C library for that reason, even if
/// no lock is named for spinlocks.
#[test]
fn a_spinlock_between_processes_is_not_one_without_a_name() {
    let program = Program::compile("replaced_left.c");
    for locks in ["gate", "rw_readers"] {
        let (said, _) = report(&program, "--lock", Path::new(locks));
        assert!(said.contains(" and 1 spinlock between processes,\n"), "{said}");
        assert!(said.contains("syncline: and 0 for which no lock was named\n"), "{said}");
    }
}

#[test]
fn a_lock_that_cannot_replace_is_refused() {
    for (locks, named) in [("clh-spin", "clh-park"), ("nothing", "mcs-park"), ("qd", "gate")] {
        let mut command = Command::new(syncline());
        let output = command.args(["exec", "--lock", locks, "true"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{locks}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(named), "{output:?}");
    }
}
