//! Pages without stored bytes. Only their state is kept, since no simulated program reads the bytes
//! that it has written.

use std::ops::Range;

use syncline_dsm::pages::{Pages, Twins, Written};

/// Pages that are always written as a whole, with other bytes each time.
pub struct Marks {
    written: Written,
    /// The number of times that each page was written to while it was clean, modulo 256. This
    /// number stands for the page's content.
    value: Vec<u8>,
}

impl Marks {
    /// Creates this many clean pages.
    pub fn new(pages: usize) -> Marks {
        Marks { written: Written::new(pages), value: vec![0; pages] }
    }
}

impl Pages for Marks {
    fn twins(&self) -> Twins {
        Twins::AtWrite
    }

    fn install(&mut self, _: usize, _: &[u8]) {}

    fn write(&mut self, page: usize) {
        self.written.set(page);
        self.value[page] = self.value[page].wrapping_add(1);
    }

    fn is_written(&self, page: usize) -> bool {
        self.written.has(page)
    }

    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize)) {
        self.written.take(pages, most, |_| (), found);
    }

    /// Fills the buffer with bytes that all differ from those that the page had before it was last
    /// written to.
    fn read(&self, page: usize, into: &mut [u8]) {
        into.fill(self.value[page]);
    }

    fn drop(&mut self, pages: Range<usize>) {
        pages.for_each(|page| self.written.remove(page));
    }

    fn freeze(&mut self, _: Range<usize>) {}

    fn thaw(&mut self, _: Range<usize>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_pages_are_taken_once_in_order_up_to_the_limit() {
        let mut marks = Marks::new(200);
        for page in [3, 63, 64, 130, 199] {
            marks.write(page);
        }
        let mut taken = |pages, most| {
            let mut found = Vec::new();
            marks.take_written(pages, most, &mut |page| found.push(page));
            found
        };
        assert_eq!(taken(4..199, 2), [63, 64]);
        assert_eq!(taken(0..200, usize::MAX), [3, 130, 199]);
        assert!(taken(0..200, usize::MAX).is_empty());
    }
}
