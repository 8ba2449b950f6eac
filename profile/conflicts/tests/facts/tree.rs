//! Tests the example in the paper on Syncchar: the binary tree of Figure 1 and the three sections
//! of Table 1, with the address sets as printed. Pointers have four bytes, as on the paper's
//! machine.

use crate::hand::{Made, facts_of, section, trace};
use syncline_conflicts::{Field, Sets, Window};

const READ_BY_1_AND_2: [u64; 7] = [0x1000, 0x1032, 0x1064, 0x2000, 0x2064, 0x3000, 0x3064];

fn sections() -> [Made; 3] {
    let reads = |made: Made, addresses: &[u64]| addresses.iter().fold(made, |m, &a| m.reads(a, 4));
    [
        reads(section(1), &READ_BY_1_AND_2).writes(0x3032, 4),
        reads(section(2), &READ_BY_1_AND_2).writes(0x2032, 4),
        reads(section(3), &[0x1000, 0x1064]).writes(0x1032, 4),
    ]
}

/// The addresses of all bytes on which two sections conflict.
fn conflict(earlier: &Made, later: &Made) -> Vec<u64> {
    let trace = trace(vec![earlier.clone(), later.clone()]);
    let sets = Sets::of(&trace, || {});
    let mut window = Window::new(128);
    window.push(&sets.locks[0].sets[0]);
    let conflicts = window.conflicts(&sets.locks[0].sets[1]);
    let words = conflicts.iter().flat_map(|conflict| &conflict.words);
    let bytes = words.flat_map(|&(word, mask)| {
        let address = sets.words.get(word).address;
        (0..8).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| address + bit)
    });
    bytes.collect()
}

#[test]
fn sections_1_and_2_are_independent_and_3_conflicts_with_both_on_the_roots_right_pointer() {
    let [one, two, three] = sections();
    let right = [0x1032, 0x1033, 0x1034, 0x1035];
    assert!(conflict(&one, &two).is_empty());
    assert!(conflict(&two, &one).is_empty());
    for (earlier, later) in [(&one, &three), (&two, &three), (&three, &one), (&three, &two)] {
        assert_eq!(conflict(earlier, later), right);
    }
}

#[test]
fn the_facts_equal_those_of_the_papers_table() {
    let facts = facts_of(&trace(sections().into()));
    let [lock] = &facts.locks[..] else { panic!("one lock") };
    let window = &lock.window;
    assert_eq!((window.pairs, window.conflicting), (3, 2));
    assert_eq!((window.sections, window.conflicting_sections), (2, 1));
    assert!((window.share() - 2.0 / 3.0).abs() < 1e-9);
    // The third section is the later one of both conflicting pairs. It accesses three pointers of
    // four bytes.
    assert_eq!(window.mean_set_bytes(), 12.0);
    assert_eq!(window.mean_conflicting_bytes(), 4.0);
    let [cause] = lock.causes[..] else { panic!("one cause") };
    assert_eq!((cause.field, cause.bytes), (Field::Fixed { address: 0x1030 }, 0b0011_1100));
    assert_eq!((cause.pairs, cause.alone), (2, 2));
    let words = lock.sites[0].words;
    // The sections access 7 + 1, 7 + 1 and 3 pointers, each in a word of its own.
    assert!((words - 19.0 / 3.0).abs() < 1e-9, "{words}");
}
