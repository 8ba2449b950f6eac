//! Each kind of function that `programs/ranks.c`, `ranks_process.c` and `ranks.cpp` use.

use std::ffi::OsStr;

use syncline_conformance::{Case, Program, scratch};

/// The modes of `ranks.c`.
const SYNCHRONIZING: [&str; 7] =
    ["mutexes", "conditions", "barriers", "readers", "semaphores", "once", "c"];
/// The modes of `ranks_process.c`.
const IN_COMMON: [&str; 8] =
    ["allocations", "files", "output", "signals", "exit", "arguments", "stacks", "libraries"];

/// All modes, each with its program.
pub fn modes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let first = SYNCHRONIZING.into_iter().map(|mode| ("ranks.c", mode));
    first.chain(IN_COMMON.into_iter().map(|mode| ("ranks_process.c", mode)))
}

/// Options of the shared memory. Together they have every fault handler and every scheme, a small
/// cache, a small write buffer, lines of several pages, and every placement.
const OPTIONS: [&[&str]; 5] = [
    &[],
    &["--faults", "sigsegv", "--scheme", "s"],
    &["--faults", "uffd-handler", "--scheme", "ps", "--write-buffer", "4"],
    &["--faults", "uffd", "--line", "8", "--homes", "blocks"],
    &["--faults", "sigsegv", "--cache", "1M", "--homes", "first-touch"],
];

#[track_caller]
pub fn same<T: AsRef<OsStr>>((program, mode): (&str, &str), ranks: usize, options: &[T]) {
    let folder = scratch();
    let mut case = Case::new(&Program::compile(program)).arg(mode).arg(folder.path().join("file"));
    case = case.env("SYNCLINE_TEST", "set").status(if mode == "exit" { 7 } else { 0 });
    let alone = case.plain();
    case = options.iter().fold(case, |case, option| case.option(option));
    let on_ranks = case.on_ranks(ranks);
    assert_eq!(on_ranks.stdout, alone.stdout, "{mode}, {ranks} ranks");
}

#[test]
fn each_kind_of_function_works_on_two_ranks() {
    modes().for_each(|mode| same::<&str>(mode, 2, &[]));
}

#[test]
fn each_kind_of_function_works_on_one_rank_and_on_more_ranks_than_threads() {
    for ranks in [1, 3, 7] {
        modes().for_each(|mode| same::<&str>(mode, ranks, &[]));
    }
}

#[test]
fn each_kind_of_function_works_under_all_options() {
    for (number, mode) in modes().enumerate() {
        for options in &OPTIONS[1..] {
            same(mode, 2 + number % 2, options);
        }
    }
}

#[test]
fn programs_in_cpp_work() {
    let case = Case::new(&Program::compile("ranks.cpp"));
    let alone = case.plain();
    for ranks in 1..4 {
        assert_eq!(case.on_ranks(ranks).stdout, alone.stdout, "{ranks} ranks");
    }
}
