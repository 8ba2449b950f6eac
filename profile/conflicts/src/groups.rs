//! Counts the independent pieces of data that a lock guards.
//!
//! Two sections belong to one piece if they access the same word and any section writes it. So a
//! piece is a connected component of the graph of sections and written words. Words that are only
//! read join nothing, since sections could read them at the same time. For example, a table of 512
//! entries is 512 pieces if each section changes one entry. If each section also adds to a counter,
//! all is one piece, but without the counter there are 512.

use rustc_hash::FxHashMap;

use crate::conflict::Field;
use crate::sets::{LockSections, Sets};

/// The pieces of data of a lock, as far as the traced sections show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The number of pieces.
    pub groups: u64,
    /// How many of those pieces at least two sections accessed.
    pub met_again: u64,
    /// The number of sections in the largest piece.
    pub largest: u64,
    /// The number of sections that belong to any piece: they write a word, or read one that a
    /// section writes.
    pub sections: u64,
    /// The number of words that sections write.
    pub words: u64,
}

/// Groups the data of a lock into pieces, ignoring the fields in `without`.
pub fn groups(sets: &Sets, lock: &LockSections, without: &[Field]) -> Groups {
    let counts =
        |word: u32| without.is_empty() || !without.contains(&Field::of(&sets.words.get(word)));
    let mut union = Union { parent: vec![0; sets.words.end()] };
    let mut words = 0;
    for access in lock.sets.iter().flat_map(|set| &set.accesses) {
        if access.written != 0 && !union.has(access.word) && counts(access.word) {
            union.add(access.word);
            words += 1;
        }
    }
    // One written word of each section that accesses any. After all words are joined, the word's
    // root stands for the section's piece.
    let mut firsts: Vec<u32> = Vec::new();
    for set in &lock.sets {
        let words = set.accesses.iter().map(|access| access.word);
        let mut own = words.filter(|&word| union.has(word));
        let Some(first) = own.next() else { continue };
        let others: Vec<u32> = own.collect();
        others.into_iter().for_each(|word| union.join(first, word));
        firsts.push(first);
    }
    let mut sections: FxHashMap<u32, u64> = FxHashMap::default();
    for &word in &firsts {
        *sections.entry(union.root(word)).or_default() += 1;
    }
    Groups {
        groups: sections.len() as u64,
        met_again: sections.values().filter(|&&n| n > 1).count() as u64,
        largest: sections.values().copied().max().unwrap_or(0),
        sections: sections.values().sum(),
        words,
    }
}

/// Disjoint sets of words (the algorithm union-find, with path halving).
struct Union {
    /// For each word the number of its parent plus 1; 0 for words that are in no set. (Only touched
    /// pages take memory.)
    parent: Vec<u32>,
}

impl Union {
    fn has(&self, word: u32) -> bool {
        self.parent[word as usize] != 0
    }

    /// Adds a word, in a set of its own.
    fn add(&mut self, word: u32) {
        self.parent[word as usize] = word + 1;
    }

    fn root(&mut self, mut word: u32) -> u32 {
        loop {
            let parent = self.parent[word as usize] - 1;
            if parent == word {
                return word;
            }
            let next = self.parent[parent as usize];
            self.parent[word as usize] = next;
            word = next - 1;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent[a.max(b) as usize] = a.min(b) + 1;
        }
    }
}
