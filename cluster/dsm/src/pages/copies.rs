//! What a node can do with its copies of pages, and what it learns about accesses.

use std::ops::Range;

/// When a page's twin is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// When the page is fetched, since nothing will report its first write.
    AtFetch,
    /// When it is first written.
    AtWrite,
}

/// The kind of an access that faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads, or its kind is unknown.
    Read,
    /// It writes.
    Write,
}

/// Copies of pages.
///
/// A page is *absent*, or it is present and *clean* or *written*. The node decides whether a page
/// is absent, by [`install`](Self::install) and [`drop`](Self::drop). The implementation knows
/// which pages were written. One thread of a node calls these functions at a time, while others may
/// access pages.
///
/// None of these functions allocates memory, because signal handlers call them.
pub trait Pages {
    /// When twins are made.
    fn twins(&self) -> Twins;

    /// Makes absent pages from `first` on present and clean, with these bytes. Other threads see
    /// all bytes of a page or none.
    fn install(&mut self, first: usize, bytes: &[u8]);

    /// Makes a clean page a written one, before it is written. Called only if twins are made at a
    /// write.
    fn write(&mut self, page: usize);

    /// Whether the page is known to be written. Called only if twins are made at a write.
    fn is_written(&self, page: usize) -> bool;

    /// Calls `found` with written pages of a range, at most `most`, in their order. Each page is
    /// made clean before its call, so a later write makes it a written page again.
    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize));

    /// Copies the bytes of a present page.
    fn read(&self, page: usize, into: &mut [u8]);

    /// Makes present pages absent. Their bytes are lost.
    fn drop(&mut self, pages: Range<usize>);

    /// Blocks writes to the pages of a range until [`thaw`](Self::thaw), to each at the latest from
    /// when it is clean: a thread that tries to write has to wait.
    fn freeze(&mut self, pages: Range<usize>);

    /// Ends what [`freeze`](Self::freeze) of the same range began.
    fn thaw(&mut self, pages: Range<usize>);
}

impl<P: Pages + ?Sized> Pages for Box<P> {
    fn twins(&self) -> Twins {
        (**self).twins()
    }
    fn install(&mut self, first: usize, bytes: &[u8]) {
        (**self).install(first, bytes);
    }
    fn write(&mut self, page: usize) {
        (**self).write(page);
    }
    fn is_written(&self, page: usize) -> bool {
        (**self).is_written(page)
    }
    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize)) {
        (**self).take_written(pages, most, found);
    }
    fn read(&self, page: usize, into: &mut [u8]) {
        (**self).read(page, into);
    }
    fn drop(&mut self, pages: Range<usize>) {
        (**self).drop(pages);
    }
    fn freeze(&mut self, pages: Range<usize>) {
        (**self).freeze(pages);
    }
    fn thaw(&mut self, pages: Range<usize>) {
        (**self).thaw(pages);
    }
}
