//! The data that sections touch, grouped into kinds of objects. A kind is the heap blocks of one
//! size from one allocation site, or a single word elsewhere (to which a variable's name may be
//! given later).

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::sets::{LockSections, Sets};
use crate::words::Word;

/// The kind of object to which a word of memory belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// The blocks of the heap that have this allocation site and size.
    Heap {
        /// The return address of the allocating call.
        site: u64,
        /// The size of such a block in bytes.
        size: u64,
    },
    /// A word of memory outside of the heap.
    Fixed {
        /// The word's address.
        address: u64,
    },
}

impl Object {
    fn of(word: &Word) -> Object {
        match word.object {
            Some(object) => Object::Heap { site: object.site, size: object.size },
            None => Object::Fixed { address: word.address },
        }
    }
}

/// How much sections touch objects of one kind. Several of these can be added up, since kinds have
/// no words in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The number of heap blocks that were touched; 0 for other memory.
    pub blocks: u64,
    /// The number of words that were touched, each counted once.
    pub words: u64,
    /// The number of words that were touched, each counted once for each section that touched it.
    pub accesses: u64,
    /// How many of the `accesses` include a write.
    pub written: u64,
}

impl Touched {
    /// The sum of both.
    pub fn plus(self, other: Touched) -> Touched {
        Touched {
            blocks: self.blocks + other.blocks,
            words: self.words + other.words,
            accesses: self.accesses + other.accesses,
            written: self.written + other.written,
        }
    }
}

/// The data that the sections of some locks touch, the most touched first.
pub fn touched(sets: &Sets, locks: &[&LockSections]) -> Vec<(Object, Touched)> {
    // The counts by word, with accesses in the low half and writes in the high half. (Only touched
    // pages take memory.)
    let mut sums = vec![0_u64; sets.words.end()];
    let mut words: Vec<u32> = Vec::new();
    for access in locks.iter().flat_map(|lock| &lock.sets).flat_map(|set| &set.accesses) {
        let sum = &mut sums[access.word as usize];
        if *sum == 0 {
            words.push(access.word);
        }
        *sum += 1 + (u64::from(access.written != 0) << 32);
    }
    words.sort_unstable();
    let mut blocks: FxHashSet<(u64, u64)> = FxHashSet::default();
    let mut by_object: FxHashMap<Object, Touched> = FxHashMap::default();
    let mut last = None;
    for number in words {
        let word = sets.words.get(number);
        let block = word.object.map(|object| (object.start, object.serial));
        let is_new = block.is_some() && block != last && block.is_some_and(|b| blocks.insert(b));
        last = block;
        let (accesses, written) =
            (sums[number as usize] & 0xffff_ffff, sums[number as usize] >> 32);
        let sum = by_object.entry(Object::of(&word)).or_default();
        *sum = sum.plus(Touched { blocks: is_new.into(), words: 1, accesses, written });
    }
    let mut all: Vec<_> = by_object.into_iter().collect();
    all.sort_by_key(|&(object, touched)| (Reverse(touched.accesses), object));
    all
}
