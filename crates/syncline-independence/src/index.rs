//! The last sections of a lock, and which of them conflict with the next one.
//!
//! Comparing a section with each of 128 others would walk all their sets. Instead there is an
//! index from each place to two bitmaps over the window's slots: who read it, who wrote it. A
//! section asks only about the places that it accessed itself, and the answer is a few bits.

use rustc_hash::FxHashMap;

use crate::sets::{Access, Set};

/// A set of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slots(Box<[u64]>);

impl Slots {
    fn none(size: usize) -> Slots {
        Slots(vec![0; size.div_ceil(64)].into())
    }

    fn set(&mut self, slot: usize, value: bool) {
        let bit = 1 << (slot % 64);
        match value {
            true => self.0[slot / 64] |= bit,
            false => self.0[slot / 64] &= !bit,
        }
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

/// Calls `each` with the slots of a bitmap that is made word by word.
fn for_each_slot(words: usize, word: impl Fn(usize) -> u64, mut each: impl FnMut(usize)) {
    for n in 0..words {
        let mut bits = word(n);
        while bits != 0 {
            each(64 * n + bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// Who accessed a place.
struct Entry {
    readers: Slots,
    writers: Slots,
}

/// A section in the window.
#[derive(Default)]
struct Slot {
    thread: u32,
    shared: bool,
    /// By place.
    accesses: Box<[Access]>,
}

impl Slot {
    /// The bytes of a place that it read, and those that it wrote.
    fn bytes(&self, place: u32) -> (u8, u8) {
        let found = self.accesses.binary_search_by_key(&place, |access| access.place);
        found.map_or((0, 0), |n| (self.accesses[n].read, self.accesses[n].written))
    }
}

/// Two sections that could not have run at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The earlier one, by how many sections ago it was added to the window: 1 is the last.
    pub ago: usize,
    /// The places, each with the bytes that one of the two wrote and the other accessed; by
    /// place.
    pub places: Vec<(u32, u8)>,
}

/// The last sections of one lock.
pub struct Window {
    size: usize,
    /// Sections that were added so far.
    added: usize,
    /// What each slot holds; slot `n % size` is that of the n-th section.
    slots: Vec<Slot>,
    index: FxHashMap<u32, Entry>,
    of_thread: FxHashMap<u32, Slots>,
    shared: Slots,
}

impl Window {
    /// An empty window of so many sections, at least one.
    pub fn new(size: usize) -> Window {
        let size = size.max(1);
        Window {
            size,
            added: 0,
            slots: Vec::new(),
            index: FxHashMap::default(),
            of_thread: FxHashMap::default(),
            shared: Slots::none(size),
        }
    }

    /// How many sections of the window this one is compared with: those of other threads,
    /// without those that held the lock together with it.
    pub fn comparable(&self, set: &Set) -> u64 {
        self.slots
            .iter()
            .filter(|slot| slot.thread != set.thread && !(slot.shared && set.shared))
            .count() as u64
    }

    /// The conflicts of a section with those of the window, the latest first.
    pub fn conflicts(&self, set: &Set) -> Vec<Conflict> {
        let mut found: FxHashMap<usize, Vec<(u32, u8)>> = FxHashMap::default();
        let words = self.size.div_ceil(64);
        let none = Slots::none(self.size);
        let own = self.of_thread.get(&set.thread).unwrap_or(&none);
        for access in &set.accesses {
            let Some(entry) = self.index.get(&access.place) else { continue };
            let slots = |n: usize| {
                let readers = if access.written != 0 { entry.readers.0[n] } else { 0 };
                let together = if set.shared { self.shared.0[n] } else { 0 };
                (readers | entry.writers.0[n]) & !own.0[n] & !together
            };
            for_each_slot(words, slots, |slot| {
                let (read, written) = self.slots[slot].bytes(access.place);
                let bytes = conflicting(access, read, written);
                if bytes != 0 {
                    found.entry(slot).or_default().push((access.place, bytes));
                }
            });
        }
        let ago = |slot: usize| (self.added - 1 - slot) % self.size + 1;
        let mut conflicts: Vec<_> =
            found.into_iter().map(|(slot, places)| Conflict { ago: ago(slot), places }).collect();
        conflicts.sort_by_key(|conflict| conflict.ago);
        conflicts
    }

    /// Adds a section; the oldest leaves a full window.
    pub fn push(&mut self, set: &Set) {
        let slot = self.added % self.size;
        self.added += 1;
        if slot < self.slots.len() {
            self.clear(slot);
        }
        let size = self.size;
        for access in &set.accesses {
            let entry = self.index.entry(access.place).or_insert_with(|| Entry {
                readers: Slots::none(size),
                writers: Slots::none(size),
            });
            entry.readers.set(slot, access.read != 0);
            entry.writers.set(slot, access.written != 0);
        }
        self.of_thread.entry(set.thread).or_insert_with(|| Slots::none(size)).set(slot, true);
        self.shared.set(slot, set.shared);
        let accesses = set.accesses.as_slice().into();
        let content = Slot { thread: set.thread, shared: set.shared, accesses };
        match self.slots.get_mut(slot) {
            Some(place) => *place = content,
            None => self.slots.push(content),
        }
    }

    fn clear(&mut self, slot: usize) {
        let Slot { thread, accesses, .. } = std::mem::take(&mut self.slots[slot]);
        for Access { place, .. } in accesses {
            let Some(entry) = self.index.get_mut(&place) else { continue };
            entry.readers.set(slot, false);
            entry.writers.set(slot, false);
            if entry.readers.is_empty() && entry.writers.is_empty() {
                self.index.remove(&place);
            }
        }
        if let Some(slots) = self.of_thread.get_mut(&thread) {
            slots.set(slot, false);
        }
    }
}

/// The bytes that one of two wrote and the other accessed.
fn conflicting(access: &Access, read: u8, written: u8) -> u8 {
    access.written & (read | written) | written & (access.read | access.written)
}

/// The conflicting bytes of two sections, place by place: a walk over both sets.
pub fn pair(a: &Set, b: &Set) -> Vec<(u32, u8)> {
    let (mut left, mut right) = (a.accesses.iter().peekable(), b.accesses.iter().peekable());
    let mut places = Vec::new();
    while let (Some(&x), Some(&y)) = (left.peek(), right.peek()) {
        match x.place.cmp(&y.place) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                let bytes = conflicting(x, y.read, y.written);
                if bytes != 0 {
                    places.push((x.place, bytes));
                }
                left.next();
                right.next();
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(thread: u32, shared: bool, accesses: &[(u32, u8, u8)]) -> Set {
        let access = |&(place, read, written): &(u32, u8, u8)| Access {
            place,
            read,
            written,
            atomic: false,
        };
        Set { section: 0, thread, shared, accesses: accesses.iter().map(access).collect() }
    }

    /// One conflict as a person would find it.
    fn by_hand(a: &Set, b: &Set) -> Vec<(u32, u8)> {
        let mut places = Vec::new();
        for x in &a.accesses {
            for y in b.accesses.iter().filter(|y| y.place == x.place) {
                let bit = |byte: u32, mask: u8| mask >> byte & 1 == 1;
                let wrong = |byte: &u32| {
                    let (rx, wx) = (bit(*byte, x.read), bit(*byte, x.written));
                    let (ry, wy) = (bit(*byte, y.read), bit(*byte, y.written));
                    (wx && (ry || wy)) || (wy && (rx || wx))
                };
                let bytes = (0..8).filter(wrong).fold(0, |mask, byte| mask | 1 << byte);
                if bytes != 0 {
                    places.push((x.place, bytes));
                }
            }
        }
        places
    }

    #[test]
    fn readers_do_not_conflict_and_a_writer_does_with_all() {
        let mut window = Window::new(4);
        window.push(&set(1, false, &[(7, 0xff, 0)]));
        window.push(&set(2, false, &[(7, 0x0f, 0xf0)]));
        let reader = set(3, false, &[(7, 0x3c, 0), (8, 1, 1)]);
        assert_eq!(window.comparable(&reader), 2);
        assert_eq!(window.conflicts(&reader), [Conflict { ago: 1, places: vec![(7, 0x30)] }]);
        let writer = set(3, false, &[(7, 0, 1)]);
        let agos: Vec<_> = window.conflicts(&writer).iter().map(|c| c.ago).collect();
        assert_eq!(agos, [1, 2]);
        assert!(window.conflicts(&set(2, false, &[(7, 0xff, 0)])).is_empty(), "its own thread");
    }

    #[test]
    fn readers_of_a_reader_writer_lock_ran_together_already() {
        let mut window = Window::new(4);
        window.push(&set(1, true, &[(7, 1, 1)]));
        assert_eq!(window.comparable(&set(2, true, &[])), 0);
        assert!(window.conflicts(&set(2, true, &[(7, 1, 1)])).is_empty());
        assert_eq!(window.conflicts(&set(2, false, &[(7, 1, 1)])).len(), 1);
    }

    /// The index against a list of sections compared pair by pair, over sizes around those of
    /// the bitmaps' words.
    #[test]
    fn the_index_finds_what_pairwise_comparison_finds() {
        for (seed, size) in [1, 2, 3, 7, 63, 64, 65, 128, 130].into_iter().enumerate() {
            let mut random = fastrand::Rng::with_seed(seed as u64);
            let mut window = Window::new(size);
            let mut list: Vec<Set> = Vec::new();
            for step in 0..3 * size + 40 {
                let mut accesses = Vec::new();
                for place in 0..random.u32(1..24) {
                    if random.u32(..4) == 0 {
                        let masks = (random.u8(..) & random.u8(..), random.u8(..) & random.u8(..));
                        // Most words are only read, or nearly all pairs would conflict.
                        let written = if random.u32(..4) == 0 { masks.1 } else { 0 };
                        if masks.0 | written != 0 {
                            accesses.push((place, masks.0, written));
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
                    let places = by_hand(&next, old);
                    assert_eq!(places, pair(&next, old), "seed {seed}, step {step}");
                    if !places.is_empty() {
                        expected.push(Conflict { ago: n + 1, places });
                    }
                }
                assert_eq!(window.comparable(&next), compared, "seed {seed}, step {step}");
                assert_eq!(window.conflicts(&next), expected, "seed {seed}, step {step}");
                window.push(&next);
                list.push(next);
            }
            // Nothing stays of what has left the window.
            for _ in 0..size {
                window.push(&set(0, false, &[]));
            }
            assert!(window.index.is_empty());
        }
    }
}
