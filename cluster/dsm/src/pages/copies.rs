//! What a node can do with its copies of pages, and how it learns which pages were accessed.

use std::ops::Range;

/// When a page's twin is made: the copy with which the page is compared later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twins {
    /// When the page is fetched, since nothing will report its first write.
    AtFetch,
    /// When the page is first written.
    AtWrite,
}

/// The kind of an access that faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The access reads, or its kind is unknown.
    Read,
    /// The access writes.
    Write,
}

/// Copies of pages.
///
/// A page is *absent*, or it is present and *clean* or *written*. The node decides whether a page
/// is absent, by [`install`](Self::install) and [`drop`](Self::drop). The implementation of this
/// trait knows which present pages were written. One thread at a time calls these functions, while
/// other threads may access pages.
///
/// None of these functions allocates memory, because they are called in signal handlers.
pub trait Pages {
    /// When twins are made.
    fn twins(&self) -> Twins;

    /// Makes absent pages present and clean, with these bytes. `first` is the first of the pages.
    /// Other threads see all bytes of a page or none.
    fn install(&mut self, first: usize, bytes: &[u8]);

    /// Marks a clean page as written, and lets threads write to it. Called only if twins are made
    /// at the first write.
    fn write(&mut self, page: usize);

    /// Whether the page is marked as written. Called only if twins are made at the first write.
    fn is_written(&self, page: usize) -> bool;

    /// Calls `found` with each written page of a range, in ascending order, for at most `most`
    /// pages. Each page is made clean before the call, so a later write makes it a written page
    /// again.
    fn take_written(&mut self, pages: Range<usize>, most: usize, found: &mut dyn FnMut(usize));

    /// Copies the bytes of a present page.
    fn read(&self, page: usize, into: &mut [u8]);

    /// Makes present pages absent. Their bytes are lost.
    fn drop(&mut self, pages: Range<usize>);

    /// Makes writes to the pages of a range wait until [`thaw`](Self::thaw). An implementation may
    /// let writes to a written page through until the page is made clean.
    fn freeze(&mut self, pages: Range<usize>);

    /// Lets the writes continue that [`freeze`](Self::freeze) of the same range has stopped.
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
