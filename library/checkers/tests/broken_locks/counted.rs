//! Checks that each lock of the catalogue has at least two mutants of its own.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

const LEAST: usize = 2;

/// Adds the number of mutants of each type in a folder's lists to `counts`.
fn count(folder: &str, counts: &mut HashMap<String, usize>) {
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    for list in fs::read_dir(lists).expect("the lists") {
        let path = list.expect("a list").path();
        // Folders of lists have their own tests.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let broken = text.lines().find_map(|line| line.strip_prefix("breaks: "));
        let broken = broken.unwrap_or_else(|| panic!("{} breaks nothing", path.display()));
        let name = broken.split('<').next().expect("a type");
        let mutants = text.lines().filter(|line| line.starts_with("mutant: ")).count();
        *counts.entry(name.to_owned()).or_default() += mutants;
    }
}

#[test]
fn every_lock_has_mutants_of_its_own() {
    let mut counts = HashMap::new();
    count("broken", &mut counts);
    count("broken/delegation", &mut counts);
    let mut few = Vec::new();
    macro_rules! lock {
        ($name:ident, $type:ident, $($feature:ident)*) => {
            let mutants = counts.get(stringify!($type)).copied().unwrap_or(0);
            println!("{}: {mutants}", stringify!($name));
            if mutants < LEAST {
                few.push(stringify!($name));
            }
        };
    }
    syncline::for_each_lock!(lock);
    syncline::for_each_delegation!(lock);
    assert!(few.is_empty(), "fewer than {LEAST} mutants in broken/: {few:?}");
}
