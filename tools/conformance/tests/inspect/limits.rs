//! Programs with little stack, and programs that forbid themselves system calls, run as they do
//! without tracing.

use syncline_conformance::{Case, Program};

use crate::traced::{Traced, trace_with};

/// The bytes of stack that are left where the program uses locks. The C library's own lock
/// functions need less than 256.
const LEFT: &str = "1024";

/// The program, linked so that the loader looks up all functions at the start: a look-up takes more
/// stack than locks do.
fn small_stack() -> Program {
    Program::compile_with("small_stack.c", &["-Wl,-z,now"])
}

#[test]
fn a_kilobyte_of_stack_is_enough() {
    let program = small_stack();
    let plain = Case::new(&program).arg("256").plain();
    for budget in [0, 100] {
        let traced = trace_with(program.path(), [LEFT], budget, &[]);
        assert_eq!(plain.behaviour(), traced.outcome.behaviour());
        let sections: usize = traced.traces.iter().map(|t| t.sections.len()).sum();
        assert!(sections > 0, "nothing was traced");
    }
}

#[test]
fn a_kilobyte_of_stack_is_enough_for_a_recorded_program_and_for_other_locks() {
    let case = Case::new(&small_stack()).arg(LEFT);
    let plain = case.plain().behaviour();
    assert_eq!(plain, case.recorded().0.behaviour());
    for locks in ["gate+rw_readers", "mcs-park+rw_compact", "cohort_mcs-park"] {
        assert_eq!(plain, case.replaced(locks).behaviour(), "{locks}");
    }
}

/// The memory that Syncline maps for a thread is reused for later threads when the thread has
/// ended.
#[test]
fn a_program_with_many_short_threads_maps_no_more_each_time() {
    let traced = trace_with(Program::compile("inspect_rounds.c").path(), [""; 0], 0, &[]);
    let said = String::from_utf8_lossy(&traced.outcome.stdout).into_owned();
    let after = |round: u32| -> u64 {
        let name = format!("@mapped{round} ");
        let line = said.lines().find_map(|line| line.strip_prefix(&name)).expect("what it says");
        line.parse().expect("a number")
    };
    // The first round maps a table for each of 400 threads: 450 MiB.
    assert!(after(3) < after(0) + (64 << 10), "{said}");
}

/// The program enters a sandbox in each possible way. In most of these sandboxes, the kernel ends
/// the program at any system call other than the program's own. With `refused` such a call only
/// fails, and with `counter` only reading the time stamp counter is forbidden.
#[test]
fn a_program_that_forbids_itself_system_calls_is_left_alone() {
    let program = Program::compile("sandboxed.c");
    let ways = ["prctl", "strict", "syscall", "threads", "section", "counter"];
    for way in ways.into_iter().chain(["instruction", "outside", "refused"]) {
        for budget in [0, 100] {
            // A system call that the program's own instruction makes is seen only in a traced
            // section, and all sections are traced only without a budget (0).
            if way == "instruction" && budget != 0 {
                continue;
            }
            let plain = Case::new(&program).arg(way).plain();
            let traced = trace_with(program.path(), [way], budget, &[]);
            assert_eq!(plain.behaviour(), traced.outcome.behaviour(), "{way}, {budget}");
            let why = traced.traces[0].left_alone().expect("a reason");
            let what = if way == "counter" { "time stamp counter" } else { "system calls" };
            assert!(why.contains(what), "{way}: {why}");
            let sections = traced.traces[0].sections.len();
            assert!(sections > 0, "{way}: what came before was traced");
        }
    }
}

/// A program that only asks which sandboxes the kernel has is traced.
#[test]
fn a_program_that_only_asks_for_sandboxes_is_traced() {
    let traced = trace_with(Program::compile("sandboxed.c").path(), ["asks"], 0, &[]);
    assert_eq!(traced.traces[0].left_alone(), None);
}

#[test]
fn a_program_that_is_run_in_a_sandbox_is_left_alone_from_its_start() {
    let program = Program::compile("sandboxed.c");
    let plain = Case::new(&program).arg("exec").plain();
    let Traced { outcome, traces } = trace_with(program.path(), ["exec"], 0, &[]);
    assert_eq!(plain.behaviour(), outcome.behaviour());
    assert_eq!(traces.len(), 1, "only of what it was before");
}
