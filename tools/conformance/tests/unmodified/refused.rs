//! What can't work ends the program with status 4, and a message that names it.

use syncline_conformance::{Case, Program};

const CALLS: [&str; 18] = [
    "fork",
    "vfork",
    "clone",
    "execve",
    "system",
    "popen",
    "posix_spawn",
    "pthread_cancel",
    "pthread_exit in main",
    "pthread_mutex_init for several processes",
    "sem_open",
    "sem_init for several processes",
    "dlopen",
    "mmap with MAP_FIXED",
    "mmap of a file that it writes to",
    "shmat",
    "io_uring_setup",
    "futex, for a lock of its own",
];

#[test]
fn calls_that_cannot_work_are_refused_by_name() {
    let program = Program::compile("ranks_refused.c");
    for call in CALLS {
        let outcome = Case::new(&program).arg(call).status(4).on_ranks(2);
        let said = format!(
            "syncline: the program calls {call}, which can't work on ranks (docs/dsm.md, What can't run)\n"
        );
        assert_eq!(String::from_utf8_lossy(&outcome.stderr), said, "{call}");
        assert!(outcome.stdout.is_empty(), "{call}");
    }
}

/// The runtime library waits in the kernel by instructions of its own.
#[test]
fn openmp_is_refused() {
    let program = Program::compile_with("ranks_openmp.c", &["-fopenmp"]);
    let outcome = Case::new(&program).status(4).on_ranks(2);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("the program calls futex, for a lock of its own"), "{said}");
}

#[test]
fn the_list_of_the_documentation_names_all_calls_that_are_refused() {
    let docs = include_str!("../../../../docs/dsm.md");
    let (_, section) = docs.split_once("### What can't run").expect("a section");
    for call in CALLS {
        let name = call.split([' ', ',']).next().expect("a word");
        assert!(section.contains(name), "{name} is not in docs/dsm.md");
    }
}

#[test]
fn programs_into_which_no_library_can_be_loaded_are_refused() {
    let program = Program::compile_with("ranks.c", &["-static"]);
    let outcome = Case::new(&program).arg("mutexes").status(126).on_ranks(2);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("statically linked"), "{said}");
}

/// Below a stack there is other shared memory.
#[test]
fn a_stack_that_overflows_ends_the_program() {
    let outcome =
        Case::new(&Program::compile("ranks_process.c")).arg("overflow").status(3).on_ranks(2);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("rank 1 was ended by SIGSEGV before the program's end"), "{said}");
}

/// The C library sends the signal to the process and the thread that it believes to be in.
#[test]
fn a_rank_that_aborts_ends_the_program() {
    let outcome =
        Case::new(&Program::compile("ranks_process.c")).arg("aborted").status(3).on_ranks(2);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("rank 1 was ended by SIGABRT before the program's end"), "{said}");
}

#[test]
fn a_rank_that_is_killed_ends_the_program() {
    let outcome =
        Case::new(&Program::compile("ranks_process.c")).arg("killed").status(3).on_ranks(2);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert!(said.contains("rank 1 was ended by SIGKILL before the program's end"), "{said}");
}
