//! Sections that touch the same memory again and again. The tracer skips accesses that are known to
//! add nothing, so this test computes the result again, one access after the other.

use std::collections::BTreeMap;
use std::ops::Range;

use syncline_conformance::Program;
use syncline_trace::Section;

use crate::traced::{Set, by_lock, trace};

/// The accesses of each instruction of the program: the offset from the address that the
/// instruction is given, the length in bytes, whether it reads, and whether it writes.
const INSTRUCTIONS: [&[(u64, u64, bool, bool)]; 6] = [
    &[(0, 4, true, false)],
    &[(0, 8, false, true)],
    &[(0, 16, true, false)],
    &[(0, 2, true, true)],
    // The access of this instruction, and that of the instruction before it, whose own step is not
    // checked.
    &[(24, 4, false, true), (0, 8, true, false)],
    &[(0, 1, false, true)],
];

/// The number of times that an instruction ran, the number of its accesses to memory outside of the
/// stack, and the lowest and the highest address of these accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    times: u32,
    accesses: u32,
    low: u64,
    high: u64,
}

/// The bytes that a section must have read and written, and the steps of its instructions by their
/// numbers.
#[derive(Clone, Default)]
struct Expected {
    set: Set,
    steps: BTreeMap<usize, Step>,
}

impl Expected {
    fn did(&mut self, instruction: usize, at: u64, stack: &Range<u64>) {
        let accesses = INSTRUCTIONS[instruction];
        for &(from, bytes, read, written) in accesses {
            let range = at + from..at + from + bytes;
            if read {
                self.set.read.extend(range.clone());
            }
            if written {
                self.set.written.extend(range);
            }
        }
        let (from, bytes, ..) = accesses[0];
        let none = Step { times: 0, accesses: 0, low: u64::MAX, high: 0 };
        let step = self.steps.entry(instruction).or_insert(none);
        step.times += 1;
        if !stack.contains(&(at + from)) {
            step.accesses += 1;
            step.low = step.low.min(at + from);
            step.high = step.high.max(at + from + bytes - 1);
        }
    }

    fn assert_is(
        &self,
        section: &Section,
        memory: &[Range<u64>],
        instructions: &[u64],
        name: &str,
    ) {
        let mut set = Set::of(section);
        for bytes in [&mut set.read, &mut set.written] {
            bytes.retain(|byte| memory.iter().any(|range| range.contains(byte)));
        }
        set.assert_equal(&self.set, name);
        for (number, address) in instructions.iter().enumerate() {
            let step = section.steps.iter().find(|step| step.address == *address);
            let step = step.map(|s| Step {
                times: s.times,
                accesses: s.accesses,
                low: s.low,
                high: s.high,
            });
            assert_eq!(step.as_ref(), self.steps.get(&number), "{name}, instruction {number}");
        }
    }
}

#[test]
fn skipping_known_accesses_changes_no_section() {
    let program = Program::compile("inspect_again.c");
    let traced = trace(program.path(), [""; 0]);
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let text = String::from_utf8_lossy(&traced.outcome.stdout);
    let (mut memory, mut instructions, mut outer) = (Vec::new(), Vec::new(), 0);
    let mut expected: Vec<Expected> = Vec::new();
    let mut inner = 0;
    for line in text.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["@heap" | "@stack", start, end] => memory.push(number(start)..number(end)),
            ["@instruction", _, address] => instructions.push(number(address)),
            ["@outer", lock] => outer = number(lock),
            ["@section", lock] => {
                inner = number(lock);
                expected.push(Expected::default());
            }
            ["@did", instruction, at] => {
                let section = expected.last_mut().expect("a section");
                section.did(instruction.parse().expect("a number"), number(at), &memory[1]);
            }
            _ => {}
        }
    }
    let sections = by_lock(&traced.traces[0]);
    assert_eq!(sections[&inner].len(), expected.len());
    for (i, (section, expected)) in sections[&inner].iter().zip(&expected).enumerate() {
        expected.assert_is(section, &memory, &instructions, &format!("section {i}"));
    }
    // Each outer section contains three inner sections, and has their accesses.
    assert_eq!(sections[&outer].len() * 3, expected.len());
    for (i, (section, three)) in sections[&outer].iter().zip(expected.chunks(3)).enumerate() {
        let mut all = Expected::default();
        for one in three {
            all.set.read.extend(&one.set.read);
            all.set.written.extend(&one.set.written);
            for (&instruction, step) in &one.steps {
                let sum =
                    all.steps.entry(instruction).or_insert(Step { times: 0, accesses: 0, ..*step });
                sum.times += step.times;
                sum.accesses += step.accesses;
                sum.low = sum.low.min(step.low);
                sum.high = sum.high.max(step.high);
            }
        }
        all.assert_is(section, &memory, &instructions, &format!("outer section {i}"));
    }
}
