//! The sizes of a shared memory, and the layout of each rank's part.
//!
//! ```text
//!   control     words about this rank: its state, barriers, counters      CONTROL bytes
//!   locks       global locks, each with a counter                         LOCK bytes each
//!   nodes       the heap from which this rank's threads take their nodes for all global locks
//!   summary     a bit for each word of notices that is not zero
//!   notices     a bit for each line, which is set if this rank got a notice about the line
//!   homes       this rank's share of the table of homes: a word for each line of the share
//!   log         notices to all nodes about lines that live here
//!   entries     the directory: a word for each line that lives here
//!   conflicts   what --check finds: a count, then two words for each conflict
//!   own         words that belong to the program
//!   data        the bytes of the lines that live here
//! ```
//!
//! All ranks compute the same layout from the same [`Shape`].

use syncline_fabric::{Heap, Position};

/// The size of a page in bytes, except in simulations.
pub const PAGE: usize = 4096;
/// The size of a global lock and its counter, in bytes.
pub const LOCK: usize = 256;
/// The most pages that a line may have.
pub const MOST_LINE_PAGES: usize = 64;

/// The sizes that all ranks must have in common before they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of ranks.
    pub ranks: usize,
    /// Bytes of a page: [`PAGE`], except in simulations.
    pub page: usize,
    /// Pages of a line, the unit that a miss fetches: 1 to [`MOST_LINE_PAGES`].
    pub line_pages: usize,
    /// Lines of the whole memory, below 2^31.
    pub lines: usize,
    /// Entries of each home's log, a power of two.
    pub log: usize,
    /// The most locks that there may be.
    pub locks: usize,
    /// Bytes of each rank's heap of lock nodes.
    pub nodes: usize,
    /// Bytes of each rank's words that belong to the program.
    pub own: usize,
}

impl Shape {
    /// The shape of a real memory of at least this many bytes.
    pub fn real(ranks: usize, bytes: usize, line_pages: usize) -> Shape {
        let lines = bytes.div_ceil(line_pages * PAGE).max(1);
        Shape {
            ranks,
            page: PAGE,
            line_pages,
            lines,
            log: 4096,
            locks: 4096,
            nodes: 1 << 20,
            own: 0,
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> usize {
        self.line_pages * self.page
    }

    /// Bytes of the whole memory.
    pub fn bytes(&self) -> usize {
        self.lines * self.line()
    }

    /// Pages of the whole memory.
    pub fn pages(&self) -> usize {
        self.lines * self.line_pages
    }

    /// The most lines that can live at one rank: twice its fair share, so that a placement may be
    /// uneven.
    pub fn capacity(&self) -> usize {
        if self.ranks == 1 { self.lines } else { 2 * self.share() }
    }

    /// A rank's fair share of the lines, rounded up.
    pub fn share(&self) -> usize {
        self.lines.div_ceil(self.ranks)
    }

    /// The offset of each area in a part.
    pub fn layout(&self) -> Layout {
        let mut end = 0;
        let mut take = |bytes: usize, align: usize| {
            let at = usize::next_multiple_of(end, align);
            end = at + bytes;
            at
        };
        let words = self.lines.div_ceil(64);
        let control = take(CONTROL, 64);
        let locks = take(self.locks.div_ceil(self.ranks) * LOCK, LOCK);
        let nodes = take(self.nodes, 64);
        let summary = take(words.div_ceil(64) * 8, 64);
        let notices = take(words * 8, 64);
        let homes = take(self.share() * 8, 64);
        let log = take(self.log * 8, 64);
        let entries = take(self.capacity() * 8, 64);
        let conflicts = take(8 + CONFLICTS * 16, 64);
        let own = take(self.own, 64);
        let data = take(self.capacity() * self.line(), self.page.next_multiple_of(8));
        let nodes = Heap { at: nodes, bytes: self.nodes };
        let bytes = usize::next_multiple_of(end, 8);
        Layout {
            control,
            locks,
            nodes,
            summary,
            notices,
            homes,
            log,
            entries,
            conflicts,
            own,
            data,
            bytes,
        }
    }
}

/// The offsets of the areas in each rank's part.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    control: usize,
    locks: usize,
    /// The heap of lock nodes.
    pub nodes: Heap,
    /// Words of the summary of notices.
    pub summary: usize,
    /// Words of notices.
    pub notices: usize,
    homes: usize,
    log: usize,
    entries: usize,
    conflicts: usize,
    own: usize,
    data: usize,
    /// Bytes of a part.
    pub bytes: usize,
}

/// The words of a rank's control block. Each word that many ranks change is in a cache line of its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// A hash of the rank's program and of the options that must be equal on all ranks.
    Identity = 0,
    /// 1 once the rank has joined, 2 once it has left.
    State = 8,
    /// The rank's latest request: the offset of a page, or the number of a lock with the bit
    /// [`ASKED_LOCK`].
    Asked = 16,
    /// The number of notices that the rank has got.
    Notices = 64,
    /// The number of entries that were ever appended to the log of this home.
    LogTail = 128,
    /// The number of slots for lines that are taken at this rank, without those that are kept for
    /// certain lines.
    Lines = 192,
    /// At rank 0: the number of entries that were ever appended to all logs.
    LogCount = 256,
    /// At rank 0: the numbers of pages that are taken from the low end of the memory and from its
    /// high end.
    Allocated = 320,
    /// At the first rank of a machine: how often ranks of this machine have come to barriers.
    Arrived = 384,
    /// At the first rank of a machine: the number of barriers that are over.
    Over = 448,
    /// At rank 0: how often machines have come to barriers.
    Machines = 512,
    /// At rank 0: the number of barriers that are over for all machines.
    MachinesOver = 576,
    /// At rank 0: the number of locks that `new_lock` has returned.
    Locks = 640,
    /// At rank 0: the address of the shared memory.
    Base = 704,
    /// At rank 0: the address at which an unmodified program is loaded.
    Loaded = 712,
}

const CONTROL: usize = 768;
/// The most conflicts that a rank reports.
pub const CONFLICTS: usize = 64;
/// A bit of [`Control::Asked`]: the rest of the word is a lock's number.
pub const ASKED_LOCK: u64 = 1 << 63;
/// A bit of [`Control::Asked`]: the rest of the word is the position of a page in the shared memory.
pub const ASKED_PAGE: u64 = 1 << 62;

impl Layout {
    /// A word of a rank's control block.
    pub fn control(&self, rank: usize, word: Control) -> Position {
        Position { rank, at: self.control + word as usize }
    }

    /// The position of a lock with this number.
    pub fn lock(&self, shape: &Shape, number: usize) -> Position {
        Position { rank: number % shape.ranks, at: self.locks + number / shape.ranks * LOCK }
    }

    /// The position of the counter with the same number as a lock.
    pub fn counter(&self, shape: &Shape, number: usize) -> Position {
        self.lock(shape, number).plus(LOCK / 2)
    }

    /// The word in the table of homes that says where a line lives.
    pub fn home(&self, shape: &Shape, line: usize) -> Position {
        Position { rank: line % shape.ranks, at: self.homes + line / shape.ranks * 8 }
    }

    /// An entry of the log at a rank.
    pub fn log(&self, shape: &Shape, rank: usize, number: u64) -> Position {
        Position { rank, at: self.log + (number as usize & (shape.log - 1)) * 8 }
    }

    /// The directory entry of the line in a home's slot.
    pub fn entry(&self, rank: usize, slot: usize) -> Position {
        Position { rank, at: self.entries + slot * 8 }
    }

    /// The number of conflicts that a rank has found.
    pub fn conflicts(&self, rank: usize) -> Position {
        Position { rank, at: self.conflicts }
    }

    /// A conflict that a rank has found: the first byte's offset in the memory. The next word has
    /// the number of bytes.
    pub fn conflict(&self, rank: usize, number: usize) -> Position {
        self.conflicts(rank).plus(8 + number * 16)
    }

    /// The first of the words that belong to the program.
    pub fn own(&self, rank: usize) -> Position {
        Position { rank, at: self.own }
    }

    /// The bytes of the line in a home's slot.
    pub fn data(&self, shape: &Shape, rank: usize, slot: usize) -> Position {
        Position { rank, at: self.data + slot * shape.line() }
    }
}
