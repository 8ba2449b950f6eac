//! The window of a lock's last sections, which finds those that conflict with the next section.
//!
//! To compare a section with each of 128 others would mean to walk all their sets. Instead there is
//! an index: for each word two bitmaps over the window's slots, one of the sections that read the
//! word and one of those that wrote it. For a section, only the words that it accessed are looked
//! up, and each takes a few operations on bitmaps.

use rustc_hash::FxHashMap;

use crate::sets::{Access, Set};

/// Bitmaps over the window's slots. All have the same size and lie in one piece of memory; each has
/// a number.
struct Rows {
    words: usize,
    bits: Vec<u64>,
    free: Vec<u32>,
}

impl Rows {
    fn new(words: usize) -> Rows {
        Rows { words, bits: Vec::new(), free: Vec::new() }
    }

    /// Allocates an empty bitmap, and returns its number.
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let row = self.bits.len() / self.words;
            self.bits.resize(self.bits.len() + self.words, 0);
            row as u32
        })
    }

    /// Frees a bitmap, which must be empty, for another use.
    fn give(&mut self, row: u32) {
        self.free.push(row);
    }

    fn of(&self, row: u32) -> &[u64] {
        &self.bits[row as usize * self.words..][..self.words]
    }

    fn set(&mut self, row: u32, slot: usize, value: bool) {
        let word = &mut self.bits[row as usize * self.words + slot / 64];
        let bit = 1 << (slot % 64);
        *word = if value { *word | bit } else { *word & !bit };
    }

    fn is_empty(&self, row: u32) -> bool {
        self.of(row).iter().all(|&word| word == 0)
    }
}

/// Calls `each` with each slot whose bit is set in a bitmap. The bitmap has `words` words, and
/// `word(n)` computes the `n`th of them.
fn for_each_slot(words: usize, word: impl Fn(usize) -> u64, mut each: impl FnMut(usize)) {
    for n in 0..words {
        let mut bits = word(n);
        while bits != 0 {
            each(64 * n + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// The index's entry for a word: the numbers of the bitmaps of the sections that read the word and
/// of those that wrote it.
struct Entry {
    readers: u32,
    writers: u32,
}

/// At most this many comparisons of words are made for one section. A section of very many words is
/// compared with fewer others, but at least with one.
const MOST: usize = 1 << 16;

/// A section in the window.
#[derive(Default)]
struct Slot {
    thread: u32,
    shared: bool,
    /// The section's accesses, sorted by word.
    accesses: Box<[Access]>,
}

impl Slot {
    /// The bytes of a word that the section read, and those that it wrote.
    fn bytes(&self, word: u32) -> (u8, u8) {
        let found = self.accesses.binary_search_by_key(&word, |access| access.word);
        found.map_or((0, 0), |n| (self.accesses[n].read, self.accesses[n].written))
    }
}

/// Two sections that could not have run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Which section is the earlier one, counted back from the later one: 1 is the last section in
    /// the window.
    pub ago: usize,
    /// The words on which they conflict, in order. Each has a bit for each byte that one of the two
    /// wrote and the other accessed.
    pub words: Vec<(u32, u8)>,
}

/// The last sections of one lock.
pub struct Window {
    size: usize,
    /// The number of sections that have been added.
    added: usize,
    /// The last sections. The `n`th section that was added, counted from 0, is in slot `n % size`.
    slots: Vec<Slot>,
    index: FxHashMap<u32, Entry>,
    of_thread: FxHashMap<u32, u32>,
    rows: Rows,
    shared: u32,
}

impl Window {
    /// An empty window for this many sections, but at least for one.
    pub fn new(size: usize) -> Window {
        let size = size.max(1);
        let mut rows = Rows::new(size.div_ceil(64));
        let shared = rows.take();
        Window {
            size,
            added: 0,
            slots: Vec::new(),
            index: FxHashMap::default(),
            of_thread: FxHashMap::default(),
            rows,
            shared,
        }
    }

    /// The largest number of last sections with which this one is compared.
    fn reach(&self, set: &Set) -> usize {
        self.size.min((MOST / set.accesses.len().max(1)).max(1))
    }

    /// The slots of this many last sections, the last one first.
    fn last(&self, sections: usize) -> impl Iterator<Item = usize> {
        let sections = sections.min(self.slots.len());
        (1..=sections).map(|ago| (self.added - ago) % self.size)
    }

    /// The number of sections of the window with which this one is compared. These are the sections
    /// of other threads, except those that held the lock as readers if this one did too. A section
    /// of very many words is compared only with the last ones.
    pub fn comparable(&self, set: &Set) -> u64 {
        let others = self.last(self.reach(set)).map(|slot| &self.slots[slot]);
        others.filter(|slot| slot.thread != set.thread && !(slot.shared && set.shared)).count()
            as u64
    }

    /// The conflicts of this section with those sections of the window with which it is compared,
    /// the last section first.
    pub fn conflicts(&self, set: &Set) -> Vec<Conflict> {
        let mut found: FxHashMap<usize, Vec<(u32, u8)>> = FxHashMap::default();
        let words = self.size.div_ceil(64);
        let mut with = vec![0_u64; words];
        self.last(self.reach(set)).for_each(|slot| with[slot / 64] |= 1 << (slot % 64));
        if let Some(&own) = self.of_thread.get(&set.thread) {
            with.iter_mut().zip(self.rows.of(own)).for_each(|(with, own)| *with &= !own);
        }
        if set.shared {
            let together = self.rows.of(self.shared);
            with.iter_mut().zip(together).for_each(|(with, together)| *with &= !together);
        }
        for access in &set.accesses {
            let Some(entry) = self.index.get(&access.word) else { continue };
            let (readers, writers) = (self.rows.of(entry.readers), self.rows.of(entry.writers));
            let slots = |n: usize| {
                let readers = if access.written != 0 { readers[n] } else { 0 };
                (readers | writers[n]) & with[n]
            };
            for_each_slot(words, slots, |slot| {
                let (read, written) = self.slots[slot].bytes(access.word);
                let bytes = conflicting(access, read, written);
                if bytes != 0 {
                    found.entry(slot).or_default().push((access.word, bytes));
                }
            });
        }
        let ago = |slot: usize| (self.added - 1 - slot) % self.size + 1;
        let mut conflicts: Vec<_> =
            found.into_iter().map(|(slot, words)| Conflict { ago: ago(slot), words }).collect();
        conflicts.sort_by_key(|conflict| conflict.ago);
        conflicts
    }

    /// Adds a section, which takes the place of the oldest one if the window is full.
    pub fn push(&mut self, set: &Set) {
        let slot = self.added % self.size;
        self.added += 1;
        if slot < self.slots.len() {
            self.clear(slot);
        }
        let rows = &mut self.rows;
        for access in &set.accesses {
            let entry = self.index.entry(access.word);
            let entry =
                entry.or_insert_with(|| Entry { readers: rows.take(), writers: rows.take() });
            rows.set(entry.readers, slot, access.read != 0);
            rows.set(entry.writers, slot, access.written != 0);
        }
        let own = *self.of_thread.entry(set.thread).or_insert_with(|| rows.take());
        rows.set(own, slot, true);
        rows.set(self.shared, slot, set.shared);
        let accesses = set.accesses.as_slice().into();
        let content = Slot { thread: set.thread, shared: set.shared, accesses };
        match self.slots.get_mut(slot) {
            Some(word) => *word = content,
            None => self.slots.push(content),
        }
    }

    fn clear(&mut self, slot: usize) {
        let Slot { thread, accesses, .. } = std::mem::take(&mut self.slots[slot]);
        let rows = &mut self.rows;
        for Access { word, .. } in accesses {
            let Some(&Entry { readers, writers }) = self.index.get(&word) else { continue };
            rows.set(readers, slot, false);
            rows.set(writers, slot, false);
            if rows.is_empty(readers) && rows.is_empty(writers) {
                rows.give(readers);
                rows.give(writers);
                self.index.remove(&word);
            }
        }
        if let Some(&own) = self.of_thread.get(&thread) {
            rows.set(own, slot, false);
        }
    }
}

/// The bytes of a word that one of two sections wrote and the other accessed, one bit each. One
/// section made this access; the other read and wrote the given bytes.
fn conflicting(access: &Access, read: u8, written: u8) -> u8 {
    access.written & (read | written) | written & (access.read | access.written)
}

/// The words on which two sections conflict, and the conflicting bytes of each, found by a walk
/// over both sets.
pub fn pair(a: &Set, b: &Set) -> Vec<(u32, u8)> {
    let (mut left, mut right) = (a.accesses.iter().peekable(), b.accesses.iter().peekable());
    let mut words = Vec::new();
    while let (Some(&x), Some(&y)) = (left.peek(), right.peek()) {
        match x.word.cmp(&y.word) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                let bytes = conflicting(x, y.read, y.written);
                if bytes != 0 {
                    words.push((x.word, bytes));
                }
                left.next();
                right.next();
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(thread: u32, shared: bool, accesses: &[(u32, u8, u8)]) -> Set {
        let access =
            |&(word, read, written): &(u32, u8, u8)| Access { word, read, written, atomic: false };
        Set { section: 0, thread, shared, accesses: accesses.iter().map(access).collect() }
    }

    /// The result that `pair` should have, computed in the simplest way.
    fn by_hand(a: &Set, b: &Set) -> Vec<(u32, u8)> {
        let mut words = Vec::new();
        for x in &a.accesses {
            for y in b.accesses.iter().filter(|y| y.word == x.word) {
                let bit = |byte: u32, mask: u8| mask >> byte & 1 == 1;
                let wrong = |byte: &u32| {
                    let (rx, wx) = (bit(*byte, x.read), bit(*byte, x.written));
                    let (ry, wy) = (bit(*byte, y.read), bit(*byte, y.written));
                    (wx && (ry || wy)) || (wy && (rx || wx))
                };
                let bytes = (0..8).filter(wrong).fold(0, |mask, byte| mask | 1 << byte);
                if bytes != 0 {
                    words.push((x.word, bytes));
                }
            }
        }
        words
    }

    #[test]
    fn readers_do_not_conflict_and_a_writer_does_with_all() {
        let mut window = Window::new(4);
        window.push(&set(1, false, &[(7, 0xff, 0)]));
        window.push(&set(2, false, &[(7, 0x0f, 0xf0)]));
        let reader = set(3, false, &[(7, 0x3c, 0), (8, 1, 1)]);
        assert_eq!(window.comparable(&reader), 2);
        assert_eq!(window.conflicts(&reader), [Conflict { ago: 1, words: vec![(7, 0x30)] }]);
        let writer = set(3, false, &[(7, 0, 1)]);
        let agos: Vec<_> = window.conflicts(&writer).iter().map(|c| c.ago).collect();
        assert_eq!(agos, [1, 2]);
        assert!(window.conflicts(&set(2, false, &[(7, 0xff, 0)])).is_empty(), "its own thread");
    }

    /// Without this limit, a few sections of a hundred thousand words each would take minutes.
    #[test]
    fn a_very_large_section_is_compared_with_the_latest_only() {
        let words: Vec<(u32, u8, u8)> = (0..MOST as u32 / 4).map(|word| (word, 1, 1)).collect();
        let mut window = Window::new(128);
        (0..20).for_each(|_| window.push(&set(1, false, &words)));
        let large = set(2, false, &words);
        assert_eq!(window.comparable(&large), 4);
        let agos: Vec<_> = window.conflicts(&large).iter().map(|c| c.ago).collect();
        assert_eq!(agos, [1, 2, 3, 4]);
        assert_eq!(window.comparable(&set(2, false, &words[..100])), 20);
    }

    #[test]
    fn shared_holds_are_not_compared_with_each_other() {
        let mut window = Window::new(4);
        window.push(&set(1, true, &[(7, 1, 1)]));
        assert_eq!(window.comparable(&set(2, true, &[])), 0);
        assert!(window.conflicts(&set(2, true, &[(7, 1, 1)])).is_empty());
        assert_eq!(window.conflicts(&set(2, false, &[(7, 1, 1)])).len(), 1);
    }

    /// Compares the results of the window with those of comparing pair by pair, for random
    /// sections. The window's sizes lie around the sizes of a bitmap's word.
    #[test]
    fn the_index_finds_what_pairwise_comparison_finds() {
        for (seed, size) in [1, 2, 3, 7, 63, 64, 65, 128, 130].into_iter().enumerate() {
            let mut random = fastrand::Rng::with_seed(seed as u64);
            let mut window = Window::new(size);
            let mut list: Vec<Set> = Vec::new();
            for step in 0..3 * size + 40 {
                let mut accesses = Vec::new();
                for word in 0..random.u32(1..24) {
                    if random.u32(..4) == 0 {
                        let masks = (random.u8(..) & random.u8(..), random.u8(..) & random.u8(..));
                        // Most words are only read, because otherwise nearly all pairs would
                        // conflict.
                        let written = if random.u32(..4) == 0 { masks.1 } else { 0 };
                        if masks.0 | written != 0 {
                            accesses.push((word, masks.0, written));
                        }
                    }
                }
                let next = set(random.u32(..4), random.u32(..4) == 0, &accesses);
                let others = list.iter().rev().take(size).enumerate();
                let others = others
                    .filter(|(_, old)| old.thread != next.thread && !(old.shared && next.shared));
                let mut expected = Vec::new();
                let mut compared = 0;
                for (n, old) in others {
                    compared += 1;
                    let words = by_hand(&next, old);
                    assert_eq!(words, pair(&next, old), "seed {seed}, step {step}");
                    if !words.is_empty() {
                        expected.push(Conflict { ago: n + 1, words });
                    }
                }
                assert_eq!(window.comparable(&next), compared, "seed {seed}, step {step}");
                assert_eq!(window.conflicts(&next), expected, "seed {seed}, step {step}");
                window.push(&next);
                list.push(next);
            }
            // After all sections have left the window, the index is empty.
            for _ in 0..size {
                window.push(&set(0, false, &[]));
            }
            assert!(window.index.is_empty());
        }
    }
}
