//! What a node can do with its copies of pages, and what it is told of accesses.

use std::ops::Range;

/// When a page's twin is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// When the page is fetched, since nothing will report its first write.
    AtFetch,
    /// When it is first written.
    AtWrite,
}

/// What an access that faulted found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads, or that is unknown.
    Read,
    /// It writes.
    Write,
}

/// Copies of pages.
///
/// A page is *absent*, or it is present and *clean* or *written*. The node decides whether a page
/// is absent, by [`install`](Self::install) and [`drop`](Self::drop); whether a page was written is
/// found here. One thread of a node calls these functions at a time, while others may access pages.
///
/// None of them allocates memory: they are called in signal handlers.
pub trait Pages {
    /// When twins are made.
    fn twins(&self) -> Twins;

    /// Absent pages from this one on become present and clean, with these bytes. Other threads see
    /// all bytes of a page or none.
    fn install(&mut self, first: usize, bytes: &[u8]);

    /// A clean page is about to be written: becomes written. Only where twins are made at a write.
    fn write(&mut self, page: usize);

    /// Whether the page is known to be written. Only where twins are made at a write.
    fn is_written(&self, page: usize) -> bool;

    /// Calls `found` with written pages of a range, at most this many, in their order, each of
    /// which is clean before its call: what is written from then on makes it a written one again.
    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize));

    /// Copies the bytes of a present page.
    fn read(&self, page: usize, into: &mut [u8]);

    /// Present pages become absent. Their bytes are lost.
    fn drop(&mut self, pages: Range<usize>);

    /// Until [`thaw`](Self::thaw) no thread writes to pages of the range: a thread that tries has
    /// to wait.
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
