//! A node: it performs the steps of the protocol Carina, on copies of pages and over a fabric.
//!
//! ```text
//!   cache    which lines are cached, and which one leaves when another comes
//!   line     the steps of a miss and of a downgrade
//!   fence    the steps of fences
//!   check    looks for data races of the program
//!   counts   counts of what a node has done
//! ```
//!
//! The same code serves all fabrics and all fault sides: simulated nodes run it in random programs
//! (`tests/nodes`), and processes run it in fences and in signal handlers. One thread at a time
//! runs a node's code, while other threads may access pages; `freeze` stops their writes. Nothing
//! here allocates after the node is made.

mod cache;
mod check;
mod counts;
mod fence;
mod line;

use std::io;

use syncline_fabric::{Dead, Fabric};

use crate::carina::{Carina, Known, LineEvent, Rules, Scheme};
use crate::homes::{Homes, Placement};
use crate::pages::{Access, Mapping, Pages, Twins};
use crate::pyxis::Pyxis;
use crate::shape::{ASKED_PAGE, Control, Layout, Shape};
use cache::Cache;
pub use cache::WAYS;
pub use counts::Counts;

/// How a node treats the lines that it caches.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// How finely lines are classified.
    pub scheme: Scheme,
    /// The homes of lines that the program has not placed.
    pub placement: Placement,
    /// The most lines that are cached.
    pub cache_lines: usize,
    /// The most pages that may be written and not yet sent home. Before there are more, some of
    /// them go home.
    pub write_buffer: usize,
    /// Whether to look for bytes that two ranks change between the same two synchronizations.
    pub check: bool,
}

/// Whether the rank's other threads keep away from pages during a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiet {
    /// The other threads wait for the fence, as at a barrier, and no thread has written since the
    /// fence's downgrade.
    Yes,
    /// The other threads may access pages.
    No,
}

/// A rank's cache of the shared memory.
#[derive(Debug)]
pub struct Node<F, P, R = Carina> {
    fabric: F,
    pages: P,
    rules: R,
    policy: Policy,
    shape: Shape,
    layout: Layout,
    homes: Homes,
    pyxis: Pyxis,
    /// This node's knowledge about each line.
    known: Vec<Known>,
    cache: Cache,
    /// For each slot of the cache, the line's bytes as they were when this node and the line's home
    /// last agreed.
    twins: Mapping,
    /// How often this node has waited until all its puts arrived.
    flushes: u32,
    /// For each line, the value of `flushes` plus 1 when the line was last put; 0 if it never was.
    put: Vec<u32>,
    /// The bytes of a line that arrives, on fault sides where they don't go into its twin.
    arriving: Vec<u8>,
    /// The bytes of a page that is being downgraded.
    snapshot: Vec<u8>,
    /// Written pages that are about to be downgraded.
    found: Vec<usize>,
    /// The number of pages in the write buffer: written pages, if the fault side's handler sees
    /// first writes. Otherwise, the pages fetched since the buffer was last full, since each of
    /// them may have been written.
    buffered: usize,
    /// The page at which the next search for written pages begins, when the write buffer is full.
    drains: usize,
    /// The number of threads that access pages.
    threads: usize,
    /// The pages that were ever fetched are within these two ranges: one grows from the low end of
    /// the memory, and one from the high end, as allocations do. Only these can be written.
    fetched: [std::ops::Range<usize>; 2],
    counts: Counts,
}

/// The most written pages that one search returns.
const BATCH: usize = 512;

impl<F: Fabric, P: Pages, R: Rules> Node<F, P, R> {
    /// A node that has cached nothing.
    ///
    /// # Errors
    ///
    /// If the system gives no memory for twins.
    pub fn new(
        fabric: F,
        pages: P,
        rules: R,
        shape: Shape,
        policy: Policy,
    ) -> io::Result<Node<F, P, R>> {
        let cache = Cache::new(shape.lines, policy.cache_lines);
        Ok(Node {
            fabric,
            pages,
            rules,
            policy,
            layout: shape.layout(),
            homes: Homes::new(&shape, policy.placement),
            pyxis: Pyxis::new(&shape),
            known: vec![Known::default(); shape.lines],
            twins: Mapping::new(cache.slots() * shape.line())?,
            cache,
            flushes: 0,
            put: vec![0; shape.lines],
            arriving: vec![0; shape.line()],
            snapshot: vec![0; shape.page],
            found: Vec::with_capacity(BATCH),
            buffered: 0,
            drains: 0,
            threads: 1,
            fetched: [0..0, shape.pages()..shape.pages()],
            shape,
            counts: Counts::default(),
        })
    }

    /// The node's copies of pages.
    pub fn pages(&mut self) -> &mut P {
        &mut self.pages
    }

    /// The counts of the node's work so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Sets how many threads access pages; 1 at first.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Whether a page is cached.
    pub fn has(&self, page: usize) -> bool {
        self.cache.has(page / self.shape.line_pages)
    }

    /// Handles an access that faulted: it found the page absent, or it was a write and found the
    /// page clean. Afterwards the access can be retried.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn fault(&mut self, page: usize, access: Access) -> Result<(), Dead> {
        let was_here = self.has(page);
        if !was_here {
            self.fabric.store(
                self.layout.control(self.fabric.rank(), Control::Asked),
                ASKED_PAGE | (page * self.shape.page) as u64,
            )?;
            self.counts.misses += 1;
            self.event(LineEvent::Miss, page)?;
            if self.pages.twins() == Twins::AtFetch {
                self.buffer(self.shape.line_pages)?;
            }
        }
        let writes = access == Access::Write && self.pages.twins() == Twins::AtWrite;
        if writes && !self.pages.is_written(page) {
            self.counts.first_writes += 1;
            self.buffer(1)?;
            let twin = self.twin(page);
            self.pages.read(page, self.twins.at_mut(twin));
            self.pages.write(page);
        }
        Ok(())
    }

    /// Gives lines homes at a rank, unless a rank has touched them before. Returns how many of the
    /// lines have their home at that rank.
    ///
    /// # Errors
    ///
    /// If a rank that takes part is dead.
    pub fn place(&mut self, lines: std::ops::Range<usize>, rank: usize) -> Result<usize, Dead> {
        let mut there = 0;
        for line in lines {
            let home = self.homes.place(&self.fabric, line, rank)?;
            there += usize::from(home.rank == rank);
        }
        Ok(there)
    }

    /// Adds this many pages to the write buffer. If the buffer is full, written pages go home
    /// first. At most this many go home if the handler sees first writes, and otherwise at most as
    /// many as were fetched since the buffer was last full.
    fn buffer(&mut self, pages: usize) -> Result<(), Dead> {
        if self.buffered >= self.policy.write_buffer {
            let sees_first_writes = self.pages.twins() == Twins::AtWrite;
            let most = if sees_first_writes { pages } else { self.buffered };
            let (from, end) = (self.drains, self.shape.pages());
            let (mut done, mut next) = self.downgrade(from..end, most)?;
            if done < most {
                let rest = self.downgrade(0..from, most - done)?;
                (done, next) = (done + rest.0, rest.1);
            }
            self.drains = next;
            self.counts.drained += done as u64;
            if !sees_first_writes {
                // All written pages went home; the other pages were only read.
                self.buffered = 0;
            }
        }
        self.buffered += pages;
        Ok(())
    }

    /// Downgrades written pages of a range, at most `most`. Returns the number of downgraded pages,
    /// and the page at which a later search can continue.
    fn downgrade(
        &mut self,
        pages: std::ops::Range<usize>,
        most: usize,
    ) -> Result<(usize, usize), Dead> {
        let (mut from, mut done) = (pages.start, 0);
        while from < pages.end && done < most {
            let (found, limit) = (&mut self.found, BATCH.min(most - done));
            found.clear();
            self.pages.take_written(from..pages.end, limit, &mut |page| found.push(page));
            for number in 0..self.found.len() {
                self.event(LineEvent::Downgrade, self.found[number])?;
            }
            done += self.found.len();
            match self.found.last() {
                Some(last) if self.found.len() == limit => from = last + 1,
                _ => break,
            }
        }
        self.buffered = self.buffered.saturating_sub(done);
        Ok((done, from))
    }

    /// Adds a line's pages to `fetched`.
    fn note_fetched(&mut self, line: usize) {
        let pages = self.pages_of(line);
        let [low, high] = &mut self.fetched;
        if pages.start < self.shape.pages() / 2 {
            low.end = low.end.max(pages.end);
        } else {
            high.start = high.start.min(pages.start);
        }
    }

    /// The range of a page's twin in `twins`.
    fn twin(&self, page: usize) -> std::ops::Range<usize> {
        let (line, number) = (page / self.shape.line_pages, page % self.shape.line_pages);
        let start = self.cache.slot(line) * self.shape.line() + number * self.shape.page;
        start..start + self.shape.page
    }

    /// The pages of a line.
    fn pages_of(&self, line: usize) -> std::ops::Range<usize> {
        line * self.shape.line_pages..(line + 1) * self.shape.line_pages
    }
}
