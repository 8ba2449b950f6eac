//! How many independent pieces of data a lock guards.
//!
//! Sections that share a place which one of them writes belong to one piece: so a piece is a
//! connected component of sections and the places that are written to. Data that all sections only
//! read joins nothing, since it could be read at the same time. A table of 512 entries with one
//! lock, of which each section changes one entry, is 512 pieces; with a counter that each section
//! adds to, it is one piece, and 512 without the counter.

use rustc_hash::FxHashMap;

use crate::conflict::Field;
use crate::sets::{LockSections, Sets};

/// The pieces of data of a lock, as far as the traced sections show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Pieces that are written to.
    pub groups: u64,
    /// Of those, how many were met by at least two sections.
    pub met_again: u64,
    /// Sections in the largest.
    pub largest: u64,
    /// Sections that were looked at and write at least one place, or read one that is written.
    pub sections: u64,
    /// Places that are written to.
    pub places: u64,
}

/// Groups the data of a lock, as if the fields given were not there.
pub fn groups(sets: &Sets, lock: &LockSections, without: &[Field]) -> Groups {
    let counts =
        |place: u32| without.is_empty() || !without.contains(&Field::of(&sets.places.get(place)));
    let mut union = Union { parent: vec![0; sets.places.end()] };
    let mut places = 0;
    for access in lock.sets.iter().flat_map(|set| &set.accesses) {
        if access.written != 0 && !union.has(access.place) && counts(access.place) {
            union.add(access.place);
            places += 1;
        }
    }
    // One place of each section that has any: its piece is known at the end.
    let mut firsts: Vec<u32> = Vec::new();
    for set in &lock.sets {
        let places = set.accesses.iter().map(|access| access.place);
        let mut own = places.filter(|&place| union.has(place));
        let Some(first) = own.next() else { continue };
        let others: Vec<u32> = own.collect();
        others.into_iter().for_each(|place| union.join(first, place));
        firsts.push(first);
    }
    let mut sections: FxHashMap<u32, u64> = FxHashMap::default();
    for &place in &firsts {
        *sections.entry(union.root(place)).or_default() += 1;
    }
    Groups {
        groups: sections.len() as u64,
        met_again: sections.values().filter(|&&n| n > 1).count() as u64,
        largest: sections.values().copied().max().unwrap_or(0),
        sections: sections.values().sum(),
        places,
    }
}

/// Disjoint sets of places, with paths halved as they are walked.
struct Union {
    /// One more than the parent of each place; 0 of those that are in no set. Only what is touched
    /// becomes real memory.
    parent: Vec<u32>,
}

impl Union {
    fn has(&self, place: u32) -> bool {
        self.parent[place as usize] != 0
    }

    /// Adds a place, in a set of its own.
    fn add(&mut self, place: u32) {
        self.parent[place as usize] = place + 1;
    }

    fn root(&mut self, mut place: u32) -> u32 {
        loop {
            let parent = self.parent[place as usize] - 1;
            if parent == place {
                return place;
            }
            let next = self.parent[parent as usize];
            self.parent[place as usize] = next;
            place = next - 1;
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent[a.max(b) as usize] = a.min(b) + 1;
        }
    }
}
