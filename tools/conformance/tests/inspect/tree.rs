//! Tests the example in the Syncchar paper: the tree of Figure 1, with the critical sections of
//! Table 1.

use std::collections::BTreeSet;

use syncline_conformance::{Case, Program};

use crate::traced::{Set, trace};

/// The address in the program that stands for address 0 in the paper.
const BASE: u64 = 0x1000_0000;
const POINTER: u64 = 8;

/// The pointers in the paper's table: for each section, those that it reads and the one that it
/// writes. `0x1000` is the address of the pointer to the tree's root.
const SECTIONS: [(&[u64], u64); 3] = [
    (&[0x1000, 0x1064, 0x1032, 0x2064], 0x3032),
    (&[0x1000, 0x1032, 0x2064], 0x2032),
    (&[0x1000, 0x1064], 0x1032),
];

#[test]
fn sets_of_the_papers_table() {
    let program = Program::compile("inspect_tree.c");
    let plain = Case::new(&program).plain();
    let traced = trace(program.path(), [""; 0]);
    assert_eq!(plain.behaviour(), traced.outcome.behaviour());
    let mut sections: Vec<_> = traced.traces.iter().flat_map(|t| &t.sections).collect();
    sections.sort_by_key(|s| s.record.acquired);
    assert_eq!(sections.len(), 9, "three rounds");
    for (n, section) in sections.iter().enumerate() {
        let (read, written) = SECTIONS[n % 3];
        let pointer = |at: u64| BASE + at..BASE + at + POINTER;
        let expected = Set {
            read: read.iter().flat_map(|&at| pointer(at)).collect(),
            written: pointer(written).collect(),
        };
        let in_tree = |set: &BTreeSet<u64>| set.range(BASE..BASE + 0x10000).copied().collect();
        let set = Set::of(section);
        let set = Set { read: in_tree(&set.read), written: in_tree(&set.written) };
        set.assert_equal(&expected, &format!("section {}", n % 3 + 1));
        let later = n + 3;
        if later < sections.len() {
            assert_eq!(section.record.lock, sections[later].record.lock);
            assert!(section.record.order < sections[later].record.order);
        }
    }
}
