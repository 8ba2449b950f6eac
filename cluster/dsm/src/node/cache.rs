//! Which lines are here. Direct-mapped: a line has one place that it can be in, which it shares with
//! every so many lines after it.

use std::ops::Range;

/// The lines that a node has.
#[derive(Debug)]
pub struct Cache {
    /// For each place its line plus 1, or 0.
    places: Vec<u32>,
    /// A bit for each line that is here, so that a fence finds them, and neighbours, at once.
    here: Vec<u64>,
    lines: usize,
}

impl Cache {
    /// Empty, with at most so many places.
    pub fn new(lines: usize, places: usize) -> Cache {
        let places = vec![0; places.clamp(1, lines)];
        Cache { places, here: vec![0; lines.div_ceil(64)], lines }
    }

    /// How many lines fit.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// The place that a line can be in.
    pub fn place(&self, line: usize) -> usize {
        line % self.places.len()
    }

    /// Whether a line is here.
    pub fn has(&self, line: usize) -> bool {
        self.here[line / 64] >> (line % 64) & 1 != 0
    }

    /// The line that is in another one's place.
    pub fn in_the_way_of(&self, line: usize) -> Option<usize> {
        let there = (self.places[self.place(line)] as usize).checked_sub(1)?;
        (there != line).then_some(there)
    }

    /// A line is here now.
    pub fn insert(&mut self, line: usize) {
        let place = self.place(line);
        self.places[place] = line as u32 + 1;
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
