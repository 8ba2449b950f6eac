//! Tests that traces of hand-written critical sections have exactly the sets of addresses that the
//! program prints, to the byte.

use std::collections::{BTreeMap, BTreeSet};

use syncline_conformance::{Case, Program};
use syncline_trace::layout::{HANDLER, STOP_FORK, STOP_NONE};

use crate::traced::{Set, by_lock, trace};

/// A critical section, with the sets of addresses that the program has printed for it.
struct Expected {
    process: u32,
    name: String,
    lock: u64,
    set: Set,
}

fn expected(stdout: &[u8]) -> Vec<Expected> {
    let mut all: Vec<Expected> = Vec::new();
    let address = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    for line in String::from_utf8_lossy(stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["@case", process, name, lock] => all.push(Expected {
                process: process.parse().expect("a number"),
                name: name.to_owned(),
                lock: address(lock),
                set: Set::default(),
            }),
            [what @ ("@read" | "@write"), start, bytes] => {
                let start = address(start);
                let range = start..start + bytes.parse::<u64>().expect("a number");
                let set = &mut all.last_mut().expect("a case").set;
                let into = if what == "@read" { &mut set.read } else { &mut set.written };
                into.extend(range);
            }
            _ => {}
        }
    }
    all
}

#[test]
fn traced_sets_equal_the_programs_own() {
    let program = Program::compile("inspect_exact.c");
    let plain = Case::new(&program).plain();
    let traced = trace(program.path(), [""; 0]);
    assert_eq!(plain.behaviour(), traced.outcome.behaviour());
    let expected = expected(&traced.outcome.stdout);
    assert!(expected.len() > 20, "{} sections", expected.len());
    let mut seen: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    for case in &expected {
        let of_process = |t: &&syncline_trace::Trace| t.header.pid == case.process;
        let trace = traced.traces.iter().find(of_process).expect("the process's trace");
        let sections = by_lock(trace);
        let place = seen.entry((case.process, case.lock)).or_default();
        let section = sections.get(&case.lock).and_then(|s| s.get(*place));
        let section = section.unwrap_or_else(|| panic!("{} was not traced", case.name));
        *place += 1;
        Set::of(section).assert_equal(&case.set, &case.name);
        // Each instruction has one record, even if it is part of several blocks.
        let times: u64 = section.steps.iter().map(|step| u64::from(step.times)).sum();
        assert_eq!(times, section.record.instructions, "{}", case.name);
        let places: BTreeSet<u64> = section.steps.iter().map(|step| step.address).collect();
        assert_eq!(places.len(), section.steps.len(), "{}", case.name);
        let stopped = if case.name == "fork" { STOP_FORK } else { STOP_NONE };
        assert_eq!(section.record.stopped, stopped, "{}", case.name);
        let handled = section.record.flags & HANDLER != 0;
        assert_eq!(handled, case.name == "signals", "{}", case.name);
    }
}
