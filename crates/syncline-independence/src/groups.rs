//! How many independent pieces of data a lock guards.
//!
//! Sections that share a place which one of them writes belong to one piece: so a piece is a
//! connected component of sections and the places that are written to. What all only read joins
//! nothing, since it could be read at the same time. A table of 512 entries with one lock, of
//! which each section changes one entry, is 512 pieces; with a counter that each section adds to
//! it is one, and 512 but for the counter.

use std::collections::{HashMap, HashSet};

use crate::conflict::Field;
use crate::sets::{LockSections, Set, Sets};

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
    let left_out: HashSet<Field> = without.iter().copied().collect();
    let counts = |place: u32| {
        left_out.is_empty() || !left_out.contains(&Field::of(&sets.places[place as usize]))
    };
    let written: HashSet<u32> = lock
        .sets
        .iter()
        .flat_map(|set| &set.accesses)
        .filter(|access| access.written != 0 && counts(access.place))
        .map(|access| access.place)
        .collect();
    let own = |set: &Set| -> Vec<u32> {
        let places = set.accesses.iter().map(|access| access.place);
        places.filter(|place| written.contains(place)).collect()
    };
    let mut union = Union::default();
    for set in &lock.sets {
        let places = own(set);
        for pair in places.windows(2) {
            union.join(pair[0], pair[1]);
        }
    }
    let mut sections: HashMap<u32, u64> = HashMap::new();
    for set in &lock.sets {
        if let Some(&place) = own(set).first() {
            *sections.entry(union.root(place)).or_default() += 1;
        }
    }
    Groups {
        groups: sections.len() as u64,
        met_again: sections.values().filter(|&&n| n > 1).count() as u64,
        largest: sections.values().copied().max().unwrap_or(0),
        sections: sections.values().sum(),
        places: written.len() as u64,
    }
}

/// Disjoint sets of places, with paths halved as they are walked.
#[derive(Default)]
struct Union {
    parent: HashMap<u32, u32>,
}

impl Union {
    fn root(&mut self, mut place: u32) -> u32 {
        while let Some(&parent) = self.parent.get(&place) {
            if let Some(&next) = self.parent.get(&parent) {
                self.parent.insert(place, next);
            }
            place = parent;
        }
        place
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent.insert(a.max(b), a.min(b));
        }
    }
}
