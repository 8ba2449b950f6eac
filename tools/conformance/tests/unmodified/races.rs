//! `--check` names the variables that two ranks change without synchronizing in between, and nothing
//! in a program that has no race.

use syncline_conformance::{Case, Outcome, Program};

fn checked(words: &[&str], faults: &str, status: i32) -> Outcome {
    let case = Case::new(&Program::compile("races.c")).args(words).status(status);
    let outcome = ["--check", "--faults", faults].into_iter().fold(case, Case::option).on_ranks(2);
    assert_eq!(outcome.stdout, b"done\n");
    outcome
}

#[test]
fn variables_that_two_ranks_change_at_once_are_named() {
    for faults in ["uffd", "uffd-handler", "sigsegv"] {
        let outcome = checked(&[], faults, 5);
        let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
        let (title, places) = said.split_once('\n').expect("lines");
        assert!(title.contains("a data race: two ranks have changed the same bytes"), "{said}");
        let mut places: Vec<_> = places.lines().collect();
        places.sort();
        let [counter, table] = places[..] else { panic!("{said}") };
        assert!(counter.ends_with(" of the variable counter"), "{said}");
        assert!(table.ends_with(" of the variable table, at offset 56"), "{said}");
    }
}

#[test]
fn a_program_without_races_has_none() {
    for faults in ["uffd", "uffd-handler", "sigsegv"] {
        let outcome = checked(&["locked"], faults, 0);
        assert!(outcome.stderr.is_empty(), "{}", String::from_utf8_lossy(&outcome.stderr));
    }
}
