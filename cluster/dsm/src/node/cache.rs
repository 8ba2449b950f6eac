//! The lines that are here, and the choice of the one that leaves for another.
//!
//! A line can be in any of the few slots of its set; the one that came first leaves. It is not
//! direct-mapped, as the paper's cache is: an instruction may need four lines at once, where both
//! of its operands cross from one line into the next. Were one of them always dropped for another
//! one, the instruction would fault for ever. With [`WAYS`] places in a set, the last four to come
//! stay.

use std::ops::Range;

/// Places of a set.
pub const WAYS: usize = 4;

/// The lines that a node has.
#[derive(Debug)]
pub struct Cache {
    /// For each place its line plus 1, or 0. The places of a set are neighbours.
    places: Vec<u32>,
    /// For each place how many lines had come when its own came.
    came: Vec<u64>,
    /// How many lines have come.
    coming: u64,
    ways: usize,
    /// A bit for each line that is here, so that a fence finds them, and neighbours, at once.
    here: Vec<u64>,
    lines: usize,
}

impl Cache {
    /// Empty. It has at most this many places, in sets of [`WAYS`], or as many as there are lines.
    pub fn new(lines: usize, places: usize) -> Cache {
        let ways = places.clamp(1, WAYS);
        let places = match places >= lines {
            true => lines.next_multiple_of(ways),
            false => (places / ways).max(1) * ways,
        };
        Cache {
            places: vec![0; places],
            came: vec![0; places],
            coming: 0,
            ways,
            here: vec![0; lines.div_ceil(64)],
            lines,
        }
    }

    /// How many lines fit.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The places that a line can be in.
    fn set(&self, line: usize) -> Range<usize> {
        let first = line % (self.places.len() / self.ways) * self.ways;
        first..first + self.ways
    }

    /// Where a line is, or will be if it comes next.
    ///
    /// # Panics
    ///
    /// If it is not here and its set is full.
    pub fn place(&self, line: usize) -> usize {
        let wanted = if self.has(line) { line as u32 + 1 } else { 0 };
        let found = self.set(line).find(|place| self.places[*place] == wanted);
        found.expect("a line that comes has room")
    }

    /// Whether a line is here.
    pub fn has(&self, line: usize) -> bool {
        self.here[line / 64] >> (line % 64) & 1 != 0
    }

    /// The line that has to leave before another one can come.
    pub fn in_the_way_of(&self, line: usize) -> Option<usize> {
        if self.has(line) || self.set(line).any(|place| self.places[place] == 0) {
            return None;
        }
        let oldest = self.set(line).min_by_key(|place| self.came[*place])?;
        Some(self.places[oldest] as usize - 1)
    }

    /// A line is here now; its set had room for it.
    pub fn insert(&mut self, line: usize) {
        let place = self.place(line);
        self.places[place] = line as u32 + 1;
        self.came[place] = self.coming;
        self.coming += 1;
        self.here[line / 64] |= 1 << (line % 64);
    }

    /// Lines are no longer here.
    pub fn remove(&mut self, lines: Range<usize>) {
        for line in lines {
            let place = self.place(line);
            self.places[place] = 0;
            self.here[line / 64] &= !(1 << (line % 64));
        }
    }

    /// The first line from one on that is here.
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

    /// Brings a line in as a node does.
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
        for places in [4, 5, 8, 12] {
            let mut cache = Cache::new(64, places);
            // Lines that are in the same set in every cache, and their neighbours.
            let needed = [0, 1, 24, 25];
            (40..50).for_each(|line| come(&mut cache, line));
            let mut misses = 0;
            while let Some(absent) = needed.into_iter().find(|line| !cache.has(*line)) {
                come(&mut cache, absent);
                misses += 1;
                assert!(misses <= needed.len(), "{places} places");
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
            let mut places: Vec<_> = (0..lines).map(|line| cache.place(line)).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), lines);
            assert!(places.iter().all(|place| *place < cache.places()));
        }
    }

    #[test]
    fn it_has_no_more_places_than_it_is_given() {
        assert_eq!(Cache::new(100, 7).places(), 4);
        assert_eq!(Cache::new(100, 3).places(), 3);
        assert_eq!(Cache::new(100, 1).places(), 1);
        assert_eq!(Cache::new(2, 100).places(), 4);
    }
}
