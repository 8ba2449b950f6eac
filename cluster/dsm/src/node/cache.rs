//! The lines that a node has cached, and the choice of the line that has to leave when another one
//! comes.
//!
//! A line can be in any of the few slots of its set; if the set is full, the line that came first
//! leaves. The paper's cache is direct-mapped: a line can be in one slot only. That is not enough
//! here, since an instruction may need four lines at the same time, if both of its operands cross
//! from one line into the next. If two of these lines kept evicting each other, the instruction
//! would fault for ever. With [`WAYS`] slots in a set, the four lines that came last stay.

use std::ops::Range;

/// The number of slots in a set.
pub const WAYS: usize = 4;

/// The lines that a node has cached.
#[derive(Debug)]
pub struct Cache {
    /// Each slot's line plus 1, or 0. The slots of a set are neighbours.
    slots: Vec<u32>,
    /// For each slot, the value of `coming` just before its line came.
    came: Vec<u64>,
    /// The number of lines that have come.
    coming: u64,
    ways: usize,
    /// A bit for each cached line, so that a fence finds lines, and runs of neighbours, quickly.
    here: Vec<u64>,
    lines: usize,
}

impl Cache {
    /// An empty cache with at most this many slots, in sets of [`WAYS`], or in one set if there are
    /// fewer. If there are at least as many slots as lines, every line fits, and the number of
    /// slots is the number of lines, rounded up to whole sets.
    pub fn new(lines: usize, slots: usize) -> Cache {
        let ways = slots.clamp(1, WAYS);
        let slots = match slots >= lines {
            true => lines.next_multiple_of(ways),
            false => (slots / ways).max(1) * ways,
        };
        Cache {
            slots: vec![0; slots],
            came: vec![0; slots],
            coming: 0,
            ways,
            here: vec![0; lines.div_ceil(64)],
            lines,
        }
    }

    /// The number of lines that fit.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The slots that a line can be in.
    fn set(&self, line: usize) -> Range<usize> {
        let first = line % (self.slots.len() / self.ways) * self.ways;
        first..first + self.ways
    }

    /// The slot that a line is in. If the line is not cached, the slot that it would get now.
    ///
    /// # Panics
    ///
    /// If the line is not cached and its set is full.
    pub fn slot(&self, line: usize) -> usize {
        let wanted = if self.has(line) { line as u32 + 1 } else { 0 };
        let found = self.set(line).find(|slot| self.slots[*slot] == wanted);
        found.expect("a line that comes has room")
    }

    /// Whether a line is cached.
    pub fn has(&self, line: usize) -> bool {
        self.here[line / 64] >> (line % 64) & 1 != 0
    }

    /// The line that has to leave before this one can come, if there is one.
    pub fn in_the_way_of(&self, line: usize) -> Option<usize> {
        if self.has(line) || self.set(line).any(|slot| self.slots[slot] == 0) {
            return None;
        }
        let oldest = self.set(line).min_by_key(|slot| self.came[*slot])?;
        Some(self.slots[oldest] as usize - 1)
    }

    /// Adds a line, whose set must have room.
    pub fn insert(&mut self, line: usize) {
        let slot = self.slot(line);
        self.slots[slot] = line as u32 + 1;
        self.came[slot] = self.coming;
        self.coming += 1;
        self.here[line / 64] |= 1 << (line % 64);
    }

    /// Removes lines.
    pub fn remove(&mut self, lines: Range<usize>) {
        for line in lines {
            let slot = self.slot(line);
            self.slots[slot] = 0;
            self.here[line / 64] &= !(1 << (line % 64));
        }
    }

    /// The first cached line from `from` on.
    pub fn next(&self, from: usize) -> Option<usize> {
        let mut line = from;
        while line < self.lines {
            let rest = self.here[line / 64] >> (line % 64);
            if rest != 0 {
                return Some(line + rest.trailing_zeros() as usize);
            }
            line = (line / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches a line like a node.
    fn come(cache: &mut Cache, line: usize) {
        if cache.has(line) {
            return;
        }
        if let Some(other) = cache.in_the_way_of(line) {
            cache.remove(other..other + 1);
        }
        cache.insert(line);
    }

    #[test]
    fn an_instruction_gets_all_its_lines() {
        for slots in [4, 5, 8, 12] {
            let mut cache = Cache::new(64, slots);
            // Lines 0 and 24 are in one set for every number of slots here, and so are lines 1 and
            // 25.
            let needed = [0, 1, 24, 25];
            (40..50).for_each(|line| come(&mut cache, line));
            let mut misses = 0;
            while let Some(absent) = needed.into_iter().find(|line| !cache.has(*line)) {
                come(&mut cache, absent);
                misses += 1;
                assert!(misses <= needed.len(), "{slots} slots");
            }
        }
    }

    #[test]
    fn a_cache_for_all_lines_drops_none() {
        for lines in [1, 3, 4, 7, 64] {
            let mut cache = Cache::new(lines, lines);
            for line in 0..lines {
                assert_eq!(cache.in_the_way_of(line), None);
                cache.insert(line);
            }
            let mut slots: Vec<_> = (0..lines).map(|line| cache.slot(line)).collect();
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), lines);
            assert!(slots.iter().all(|slot| *slot < cache.slots()));
        }
    }

    #[test]
    fn a_cache_never_has_more_slots_than_its_limit() {
        assert_eq!(Cache::new(100, 7).slots(), 4);
        assert_eq!(Cache::new(100, 3).slots(), 3);
        assert_eq!(Cache::new(100, 1).slots(), 1);
        assert_eq!(Cache::new(2, 100).slots(), 4);
    }
}
