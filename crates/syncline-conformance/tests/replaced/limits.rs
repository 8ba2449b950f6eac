//! What replaced locks cost in memory, what is left to the C library, and what is refused.

use std::process::Command;

use syncline_conformance::{Case, Program, scratch, syncline};

/// Kilobytes of memory, and of address space beyond the plain run's.
fn memory(locks: Option<&str>) -> (u64, u64) {
    let case = Case::new(&Program::compile("replaced_many.c")).limit(60);
    let outcome = locks.map_or_else(|| case.plain(), |locks| case.replaced(locks));
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        line.trim().parse().expect("a number")
    };
    (value("@resident"), value("@locked"))
}

#[test]
fn three_hundred_thousand_mutexes_cost_next_to_nothing() {
    let (plain, locked) = memory(None);
    assert_eq!(locked, 300_000);
    for (locks, most) in [("gate", 4 << 10), ("mcs-park", 4 << 10), ("clh-park", 4 << 10)] {
        let (resident, locked) = memory(Some(locks));
        assert_eq!(locked, 300_000);
        assert!(resident < plain + most, "{locks}: {resident} KiB, and plainly {plain}");
    }
}

/// Of the largest locks, so many are made and no more; the others are the C library's.
#[test]
fn large_locks_are_bounded() {
    let (plain, _) = memory(None);
    let (resident, locked) = memory(Some("hmcs-park"));
    assert_eq!(locked, 300_000);
    assert!(resident < plain + (210 << 10), "{resident} KiB, and plainly {plain}");
}

#[test]
fn what_is_left_to_the_c_library_is_said() {
    let program = Program::compile_with("mutex_kinds.c", &["-lm"]);
    let case = Case::new(&program).option("--report");
    let errors = String::from_utf8_lossy(&case.replaced("gate").stderr).into_owned();
    // Of 48 combinations: 4 types, 3 protocols, robust or not, shared or not. The C library refuses
    // robust ones with a ceiling.
    assert!(errors.contains("with gate: initialised and replaced: 4 mutexes"), "{errors}");
    assert!(errors.contains("16 robust mutexes"), "{errors}");
    assert!(errors.contains("4 mutexes and 0 rwlocks shared between processes"), "{errors}");
    assert!(errors.contains("16 with a priority protocol"), "{errors}");

    // A policy that says the same leaves the same, and says how often that is acquired.
    let folder = scratch();
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "version = 1\ndefault = \"gate\"\n").expect("a policy");
    let mut command = Command::new(syncline());
    command.args(["exec", "--report", "--policy"]).arg(&policy).arg("--");
    let output = command.arg(program.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let left = |text: &str| {
        let (_, left) = text.split_once("left to").expect("what is left");
        left.split_once("acquired ").map(|(objects, times)| (objects.to_owned(), times.to_owned()))
    };
    let ((objects, times), (same, again)) = (left(&errors).unwrap(), left(&said).unwrap());
    assert_eq!(same, objects, "{said}");
    assert!(!times.starts_with("0 ") && !again.starts_with("0 "), "{errors}{said}");
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
