//! A trace names the heap block that contains a word. The program knows the right block by
//! construction, no matter which blocks were freed at its address before.

use std::collections::BTreeMap;

use syncline_conformance::{Case, Program};
use syncline_trace::layout::{NONE, ObjectRecord};

use crate::traced::{by_lock, trace};

#[test]
fn words_lie_in_the_blocks_that_the_program_says() {
    let program = Program::compile("inspect_heap.c");
    let plain = Case::new(&program).plain();
    let traced = trace(program.path(), [""; 0]);
    assert_eq!(plain.behaviour(), traced.outcome.behaviour());
    let sections = by_lock(&traced.traces[0]);
    let mut found: BTreeMap<String, Option<ObjectRecord>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&traced.outcome.stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["@case", name, numbers @ ..] = &words[..] else { continue };
        let numbers: Vec<u64> = numbers.iter().map(|n| n.parse().expect("a number")).collect();
        let [lock, address, start, size] = numbers[..] else { panic!("{line}") };
        let section = sections[&lock][0];
        let word = section.words.iter().find(|w| w.address == address & !7).expect("the word");
        let object = (word.object != NONE).then(|| section.objects[word.object as usize]);
        let said = (start != 0).then_some((start, size));
        assert_eq!(object.map(|o| (o.start, o.size)), said, "{line}");
        found.insert((*name).to_owned(), object);
    }
    assert_eq!(found.len(), 9, "{found:?}");
    let serial = |name: &str| found[name].expect("a block").serial;
    assert_ne!(serial("once"), serial("again"), "used again");
    assert_eq!(serial("over"), serial("kept"), "the same block");
}

/// One `operator new` calls another, and the last of them calls `malloc`. The block's call site is
/// where the program calls the first.
#[test]
fn a_block_of_an_operator_new_is_from_where_the_program_calls_it() {
    let program = Program::compile("inspect_new.cpp");
    let traced = trace(program.path(), [""; 0]);
    let sections = by_lock(&traced.traces[0]);
    let mut found = 0;
    for line in String::from_utf8_lossy(&traced.outcome.stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["@case", _, numbers @ ..] = &words[..] else { continue };
        let numbers: Vec<u64> = numbers.iter().map(|n| n.parse().expect("a number")).collect();
        let [lock, address, first, last] = numbers[..] else { panic!("{line}") };
        let section = sections[&lock][0];
        let word = section.words.iter().find(|w| w.address == address & !7).expect("the word");
        assert_ne!(word.object, NONE, "{line}");
        let site = section.objects[word.object as usize].site;
        assert!((first + 1..=last).contains(&site), "{line}: {site}");
        found += 1;
    }
    assert_eq!(found, 9);
}
