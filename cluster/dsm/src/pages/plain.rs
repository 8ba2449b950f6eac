//! Pages in plain buffers, for simulated nodes. Their memory can't raise faults, so every access is
//! a function call.

use std::ops::Range;

use super::copies::{Pages, Twins};

/// Copies of pages in buffers.
#[derive(Debug)]
pub struct Plain {
    page: usize,
    twins: Twins,
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl Plain {
    /// This many pages of this many bytes.
    pub fn new(pages: usize, page: usize, twins: Twins) -> Plain {
        Plain { page, twins, bytes: vec![0; pages * page], written: vec![false; pages] }
    }

    /// Bytes of present pages.
    pub fn look(&self, bytes: Range<usize>) -> &[u8] {
        &self.bytes[bytes]
    }

    /// Writes to a present page.
    pub fn change(&mut self, at: usize, bytes: &[u8]) {
        self.written[at / self.page] = true;
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl Pages for Plain {
    fn twins(&self) -> Twins {
        self.twins
    }

    fn install(&mut self, first: usize, bytes: &[u8]) {
        let pages = bytes.len() / self.page;
        self.bytes[first * self.page..first * self.page + bytes.len()].copy_from_slice(bytes);
        self.written[first..first + pages].fill(false);
    }

    fn write(&mut self, page: usize) {
        self.written[page] = true;
    }

    fn is_written(&self, page: usize) -> bool {
        self.written[page]
    }

    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize)) {
        let mut left = most;
        for page in pages {
            if left > 0 && std::mem::take(&mut self.written[page]) {
                left -= 1;
                found(page);
            }
        }
    }

    fn read(&self, page: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.bytes[page * self.page..(page + 1) * self.page]);
    }

    fn drop(&mut self, pages: Range<usize>) {
        self.written[pages.clone()].fill(false);
        // Later reads of the page are errors, so they get wrong bytes on purpose.
        self.bytes[pages.start * self.page..pages.end * self.page].fill(0xdb);
    }

    fn freeze(&mut self, _: Range<usize>) {}

    fn thaw(&mut self, _: Range<usize>) {}
}
