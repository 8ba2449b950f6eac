//! The traces of `syncline inspect` agree with those of another tracer: valgrind's lackey, which
//! translates the program in another way and knows nothing of locks.
//!
//! The program has fixed addresses, with all its data in one object and the code of all its
//! sections in one part of the file (`programs/compared.c`). The accesses that lackey reports in
//! these ranges, between the return of the locking call and the next access to the lock, make a
//! critical section. Both tracers must have the same sections, with the same bytes read and
//! written, and with equal counts for each instruction.
//!
//! Memory of the C library and of the stack is not compared: under valgrind it has other addresses,
//! and the library takes other paths on the processor that valgrind emulates. Lackey lists a string
//! instruction once for each repetition; the test counts it once, as the processor does.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use syncline_conformance::{Program, Truth, run_limited, scratch, syncline};
use syncline_trace::{Section as Traced, Trace, trace_files};

const LIMIT: Duration = Duration::from_secs(120);
/// The size of `pthread_mutex_t` in bytes.
const LOCK_SIZE: u64 = 40;

/// The accesses and instructions of one critical section.
#[derive(Clone, Debug, Default, PartialEq)]
struct Section {
    /// For each accessed byte of the data: whether it was read, and whether it was written.
    bytes: BTreeMap<u64, (bool, bool)>,
    /// The number of executions of each instruction, by its address.
    executed: BTreeMap<u64, u64>,
}

impl Section {
    fn touch(&mut self, address: u64, size: u64, read: bool, written: bool) {
        for byte in address..address + size {
            let touched = self.bytes.entry(byte).or_default();
            *touched = (touched.0 | read, touched.1 | written);
        }
    }
}

/// The address ranges of the program's parts, which the program prints.
struct Parts {
    data: Range<u64>,
    lock: Range<u64>,
    code: Range<u64>,
}

impl Parts {
    fn read(stdout: &[u8]) -> Parts {
        let truth = Truth::read(stdout);
        let lock = truth.value("lock");
        Parts {
            data: truth.value("data")..truth.value("data_end"),
            lock: lock..lock + LOCK_SIZE,
            code: truth.value("code")..truth.value("code_end"),
        }
    }
}

fn compared() -> Program {
    Program::compile_with("compared.c", &["-no-pie", "-fno-pie", "-Wl,-z,now"])
}

/// The sections that `syncline inspect` traces, and the return address of their locking calls.
fn inspected(program: &Program, shape: &str) -> (Vec<Section>, u64) {
    let folder = scratch();
    let trace = folder.path().join("trace");
    let mut command = Command::new(syncline());
    command.args(["inspect", "--trace-only", "--budget", "0", "-o"]).arg(&trace);
    command.arg("--").arg(program.path()).arg(shape);
    let outcome = run_limited(&mut command, LIMIT);
    outcome.assert_status(0);
    let parts = Parts::read(&outcome.stdout);

    let files = trace_files(&trace).unwrap();
    assert_eq!(files.len(), 1, "one process");
    let trace = Trace::open(&files[0]).unwrap();
    let ours = |section: &&Traced| section.record.lock == parts.lock.start;
    let sections: Vec<&Traced> = trace.sections.iter().filter(ours).collect();
    let site = sections.first().expect("sections were traced").record.site;
    assert!(sections.iter().all(|s| s.record.site == site && s.record.stopped == 0));
    (sections.into_iter().map(|section| of_trace(section, &parts)).collect(), site)
}

fn of_trace(traced: &Traced, parts: &Parts) -> Section {
    let mut section = Section::default();
    for word in traced.words.iter().filter(|word| parts.data.contains(&word.address)) {
        for byte in 0..8 {
            let (read, written) = (word.read >> byte & 1 == 1, word.written >> byte & 1 == 1);
            if read || written {
                section.touch(word.address + byte, 1, read, written);
            }
        }
    }
    let steps = traced.steps.iter().filter(|step| parts.code.contains(&step.address));
    section.executed = steps.map(|step| (step.address, u64::from(step.times))).collect();
    section
}

/// The sections that lackey's log shows. `site` is the return address of the locking calls.
fn seen_by_lackey(program: &Program, shape: &str, site: u64) -> Vec<Section> {
    let folder = scratch();
    let log = folder.path().join("log");
    let mut command = Command::new("valgrind");
    command.args(["--tool=lackey", "--trace-mem=yes"]);
    command.arg(format!("--log-file={}", log.display()));
    command.arg(program.path()).arg(shape);
    let outcome = run_limited(&mut command, LIMIT);
    outcome.assert_status(0);
    read_log(&log, &Parts::read(&outcome.stdout), site)
}

/// Reads the sections from lackey's log. A line is `I ADDRESS,SIZE` for an instruction, and begins
/// with ` L`, ` S` or ` M` for a load, a store, or both.
fn read_log(log: &Path, parts: &Parts, site: u64) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut inside = false;
    let mut latest = 0;
    for line in BufReader::new(File::open(log).unwrap()).lines() {
        let line = line.unwrap();
        let Some((kind @ ("I" | "L" | "S" | "M"), place)) = line.trim().split_once(' ') else {
            continue;
        };
        let Some((address, size)) = place.trim().split_once(',') else { continue };
        let address = u64::from_str_radix(address, 16).unwrap();
        let size: u64 = size.parse().unwrap();
        if kind == "I" && address == site {
            sections.push(Section::default());
            inside = true;
        }
        inside &= kind == "I" || !parts.lock.contains(&address);
        let Some(section) = sections.last_mut().filter(|_| inside) else { continue };
        let repeated = kind == "I" && address == latest;
        if kind == "I" {
            latest = address;
        }
        match kind {
            "I" if parts.code.contains(&address) && !repeated => {
                *section.executed.entry(address).or_default() += 1;
            }
            "I" => {}
            _ if parts.data.contains(&address) => {
                section.touch(address, size, kind != "S", kind != "L");
            }
            _ => {}
        }
    }
    sections
}

/// Checks that both tracers have equal sections in the same order.
fn assert_same(shape: &str) {
    let program = compared();
    let (ours, site) = inspected(&program, shape);
    let theirs = seen_by_lackey(&program, shape, site);
    assert_eq!(ours.len(), theirs.len(), "{shape}: sections");
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert!(!theirs.bytes.is_empty() && !theirs.executed.is_empty(), "lackey saw something");
        assert_eq!(ours.bytes, theirs.bytes, "{shape}, section {number}: bytes");
        assert_eq!(ours.executed, theirs.executed, "{shape}, section {number}: instructions");
    }
}

#[test]
fn sections_of_a_hash_table_are_those_that_lackey_sees() {
    assert_same("table");
}

#[test]
fn sections_of_a_tree_are_those_that_lackey_sees() {
    assert_same("tree");
}

#[test]
fn sections_with_vectors_and_string_instructions_are_those_that_lackey_sees() {
    assert_same("numbers");
}
