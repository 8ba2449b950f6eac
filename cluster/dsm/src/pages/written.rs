//! The set of written pages, with one bit for each page.

use std::ops::Range;

/// The set of written pages.
#[derive(Debug)]
pub struct Written(Vec<u64>);

impl Written {
    /// An empty set for this many pages.
    pub fn new(pages: usize) -> Written {
        Written(vec![0; pages.div_ceil(64)])
    }

    /// Marks a page as written.
    pub fn set(&mut self, page: usize) {
        self.0[page / 64] |= 1 << (page % 64);
    }

    /// Whether a page is written.
    pub fn has(&self, page: usize) -> bool {
        self.0[page / 64] >> (page % 64) & 1 != 0
    }

    /// Marks a page as clean or absent.
    pub fn remove(&mut self, page: usize) {
        self.0[page / 64] &= !(1 << (page % 64));
    }

    /// The first written page in `from..end`.
    pub fn next(&self, from: usize, end: usize) -> Option<usize> {
        let mut page = from;
        while page < end {
            let rest = self.0[page / 64] >> (page % 64);
            if rest != 0 {
                return Some(page + rest.trailing_zeros() as usize).filter(|page| *page < end);
            }
            page = (page / 64 + 1) * 64;
        }
        None
    }

    /// Takes at most `most` written pages of a range out of the set. Calls `protect` for each run
    /// of neighbours, and then `found` for each page of the run.
    pub fn take(
        &mut self,
        pages: Range<usize>,
        most: usize,
        mut protect: impl FnMut(Range<usize>),
        found: &mut dyn FnMut(usize),
    ) {
        let (mut left, mut from) = (most, pages.start);
        while let Some(first) = self.next(from, pages.end).filter(|_| left > 0) {
            let mut end = first;
            while end < pages.end && left > 0 && self.has(end) {
                self.remove(end);
                (end, left) = (end + 1, left - 1);
            }
            protect(first..end);
            (first..end).for_each(&mut *found);
            from = end;
        }
    }
}
