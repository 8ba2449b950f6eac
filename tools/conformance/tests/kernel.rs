//! `syncline kernel` on Debian's kernel, in QEMU.
//!
//! The truth is the load's own: how many files each of its processes makes, reads, renames and removes,
//! and how many bytes it sends through pipes, is known, and the kernel takes certain locks as often. The
//! second truth is the kernel's own count of waits. Where QEMU or a kernel is missing, this is skipped;
//! `./x setup --kernel` brings both.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use syncline_conformance::{Outcome, beside_tests, run_limited, scratch, syncline};
use syncline_trace::Trace;

const LIMIT: Duration = Duration::from_secs(240);
/// Of the load `small`.
const PROCESSES: u64 = 8;
const ROUNDS: u64 = 20;

/// Runs it; none where there is no emulator or no kernel.
fn kernel(folder: &Path, arguments: &[&str]) -> Option<Outcome> {
    let mut command = Command::new(syncline());
    command.arg("kernel").args(arguments).arg("-o").arg(folder.join("out")).current_dir(folder);
    command.env("SYNCLINE_KERNEL_PLUGIN", beside_tests("libsyncline_kernel_plugin.so"));
    command.env("SYNCLINE_KERNEL_INIT", beside_tests("syncline-kernel-init"));
    let outcome = run_limited(&mut command, LIMIT);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    if outcome.status != 0 && errors.contains("./x setup --kernel") {
        println!("skipped: {errors}");
        return None;
    }
    Some(outcome)
}

/// The rows of a report.
struct Rows(Vec<Value>);

impl Rows {
    fn of(document: &Value) -> Rows {
        Rows(document["report"]["rows"].as_array().expect("rows").clone())
    }

    /// How often locks were taken in these functions, which are one in different kernels.
    fn taken_in(&self, functions: &[&str]) -> u64 {
        let sites = self.0.iter().filter_map(|row| row["sites"].as_array()).flatten();
        let own = sites.filter(|site| {
            let name = site[0].as_str().and_then(|name| name.split('+').next());
            name.is_some_and(|name| functions.contains(&name))
        });
        own.filter_map(|site| site[1].as_u64()).sum()
    }

    fn class(&self, class: &str) -> &Value {
        let row = self.0.iter().find(|row| row["class"] == class);
        row.unwrap_or_else(|| panic!("there is no row of {class}"))
    }
}

#[test]
fn locks_are_taken_as_often_as_the_load_says_and_nothing_contradicts_itself() {
    let folder = scratch();
    let arguments = ["--load", "small", "--cpus", "2", "--json"];
    let Some(outcome) = kernel(folder.path(), &arguments) else { return };
    outcome.assert_status(0);
    let document: Value = serde_json::from_slice(&outcome.stdout).expect("JSON");
    assert_eq!(document["schema"], "syncline-kernel/1");
    assert_eq!(document["run"]["complete"], true);
    for name in ["unknown_releases", "other_levels", "held_by_user", "contradictions", "lost"] {
        assert_eq!(document["counts"][name], 0, "{name}");
    }
    assert_eq!(document["counts"]["dropped"], 0);
    assert_eq!(document["report"]["acquisitions"], document["counts"]["sections"]);

    // Each process, in each round, in each of two folders: one file is made, renamed, read and removed,
    // and the folder is listed, which takes two calls.
    let files = 2 * PROCESSES * ROUNDS;
    let rows = Rows::of(&document);
    for (functions, times) in [
        (&["vfs_unlink"][..], files),
        (&["generic_file_write_iter", "shmem_file_write_iter"], files),
        (&["iterate_dir"], 2 * files),
        (&["__fdget_pos", "fdget_pos"], 2 * files),
        (&["d_move"], files),
        // The pipe's mutex, and the lock of its readers' queue for the one buffer that is filled or
        // emptied.
        (&["pipe_write"], 2 * PROCESSES * ROUNDS),
        (&["pipe_read"], 2 * PROCESSES * ROUNDS),
    ] {
        assert_eq!(rows.taken_in(functions), times, "{functions:?}");
    }
    // Whoever reads a folder moves the file's position, under a lock that is there for nothing else.
    let position = rows.class("file.f_pos_lock");
    assert_eq!(position["conflicts"], 1.0);
    assert_eq!(position["cause"][0], "file.f_pos");
    assert_eq!(rows.class("mm_struct.mmap_lock")["handed_over"], 0);
    assert!(rows.class("rq.__lock")["handed_over"].as_u64() > Some(0), "no switch was seen");

    // The kernel counts from a little before the first marker to a little behind the last.
    let waits = &document["of_kernel"];
    assert!(waits["missed"].as_u64() <= Some(3), "{waits}");

    no_stack_in_the_sets(&folder.path().join("out"));

    let mut read = Command::new(syncline());
    read.args(["kernel", "--json", "--window", "50", "--read"]).arg(folder.path().join("out"));
    let again = run_limited(&mut read, LIMIT);
    again.assert_status(0);
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["report"]["acquisitions"], document["report"]["acquisitions"]);
    assert_eq!(again["report"]["window"], 50);
}

/// A folder's entries are handed to `filldir64`, which keeps its state on its caller's stack and reaches it
/// by a pointer, under the lock of the file's position: none of that is in the set. Others' stacks may be:
/// who waits for a lock has his place in its queue there.
fn no_stack_in_the_sets(out: &Path) {
    /// Stacks lie here.
    const MAPPED: std::ops::Range<u64> = 0xffff_c900_0000_0000..0xffff_e900_0000_0000;
    let symbols = std::fs::read_to_string(out.join("kernel/kallsyms")).expect("symbols");
    let address = |line: &str| u64::from_str_radix(line.split(' ').next()?, 16).ok();
    let function = |names: &[&str]| {
        let has = |line: &&str| line.split(' ').nth(2).is_some_and(|name| names.contains(&name));
        let start = symbols.lines().find(has).and_then(address).expect("a function");
        let next = symbols.lines().filter_map(address).filter(|&other| other > start).min();
        start..next.expect("it is not the last")
    };
    let (taking, filling) = (function(&["__fdget_pos", "fdget_pos"]), function(&["filldir64"]));
    let files = syncline_trace::trace_files(out).expect("a trace");
    let trace = Trace::open(&files[0]).expect("it can be read");
    let sections = trace.sections.iter().filter(|s| taking.contains(&s.record.site));
    let words: Vec<_> = sections.flat_map(|section| &section.words).collect();
    assert!(!words.is_empty(), "nothing was followed");
    let on_stack = words.iter().filter(|word| {
        let by = filling.contains(&word.reader) || filling.contains(&word.writer);
        by && MAPPED.contains(&word.address)
    });
    assert_eq!(on_stack.count(), 0, "words of the stack are in sets");
}

#[test]
fn a_load_that_fails_is_told_and_what_was_recorded_is_kept() {
    let folder = scratch();
    let script = folder.path().join("load.sh");
    std::fs::write(&script, "echo the load speaks\nexit 3\n").expect("a script");
    let script = script.to_str().expect("plain characters");
    let Some(outcome) = kernel(folder.path(), &["--load", script, "--cpus", "2"]) else { return };
    outcome.assert_status(1);
    let errors = String::from_utf8_lossy(&outcome.stderr);
    for word in ["the load failed", "exit status: 3", "the load speaks", "kernel --read"] {
        assert!(errors.contains(word), "no `{word}` in: {errors}");
    }
    let mut read = Command::new(syncline());
    read.args(["kernel", "--read"]).arg(folder.path().join("out"));
    let again = run_limited(&mut read, LIMIT);
    again.assert_status(0);
    let text = String::from_utf8_lossy(&again.stdout);
    assert!(text.contains("did not run to its end") && text.contains("no breach"), "{text}");
}
