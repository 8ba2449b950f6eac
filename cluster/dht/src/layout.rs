//! The meaning of the words of a rank's part. Zeros are an empty table.
//!
//! ```text
//!   part     0     format: what all ranks must agree upon
//!            64    how many lines were linked behind full buckets
//!            128   rows: where the second and all later rows of buckets are, 0 if there are none
//!            384   the window's word, and the part's lock, in the coarse mode
//!            2048  the first row of buckets
//!            ...   the heap: later rows, lines behind full buckets, entries
//!
//!   line     word 0      version, and the bucket's holder       (unused in a line behind another)
//!            word 1      depth, and the line behind this one
//!            words 2..8  slots
//!
//!   version  47 bits count of the bucket's changes | 1 bit being split | 16 bits 1 + holder, or 0
//!   link     24 bits depth | 40 bits displacement / 64
//!   slot     20 bits tag of the hash | 12 bits words | 32 bits displacement / 64; 0 if vacant
//! ```
//!
//! The depth is the number of hash bits that all keys of a bucket share. The link stores the depth
//! minus the bits of the first row. So in later rows, 0 means that the bucket was never used, and
//! that its keys are in the bucket whose number lacks the highest bit.

use syncline_fabric::{Heap, Position};

/// The size of a line in bytes, and the unit of displacements.
pub(crate) const LINE: usize = 64;
/// The number of slots of a line.
pub(crate) const SLOTS: usize = 6;
/// The number of words of a line before its slots.
pub(crate) const HEAD: usize = 2;
/// The number of words of a line.
pub(crate) const WORDS: usize = HEAD + SLOTS;
/// The most rows of buckets after the first.
pub(crate) const ROWS: usize = 32;

const FORMAT: usize = 0;
const LINKED: usize = LINE;
const ROWS_AT: usize = 2 * LINE;
const GLOBAL: usize = ROWS_AT + 8 * ROWS;
const PART: usize = GLOBAL + LINE;
const FIRST: usize = 2048;
/// The most bytes that a part's lock may have.
pub(crate) const LOCK: usize = FIRST - PART;

/// The position of a table in each rank's part: its offset and size, and the size of the first row
/// of buckets, which determines the heap's offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub at: usize,
    pub bytes: usize,
    /// The binary logarithm of the number of buckets in the first row.
    pub bits: u32,
}

impl Layout {
    pub fn format(self, rank: usize) -> Position {
        self.place(rank, FORMAT)
    }

    /// The word that counts the lines that were linked behind full buckets.
    pub fn linked(self, rank: usize) -> Position {
        self.place(rank, LINKED)
    }

    pub fn row(self, rank: usize, row: usize) -> Position {
        self.place(rank, ROWS_AT + 8 * row)
    }

    pub fn global(self) -> Position {
        self.place(0, GLOBAL)
    }

    pub fn part(self, rank: usize) -> Position {
        self.place(rank, PART)
    }

    /// A bucket of the first row.
    pub fn first(self, rank: usize, number: u64) -> Position {
        self.place(rank, FIRST + LINE * number as usize)
    }

    /// The size of everything before the heap, in bytes.
    pub fn fixed(bits: u32) -> usize {
        FIRST + (LINE << bits)
    }

    pub fn heap(self) -> Heap {
        let fixed = Layout::fixed(self.bits);
        Heap { at: self.at + fixed, bytes: self.bytes - fixed }
    }

    fn place(self, rank: usize, offset: usize) -> Position {
        Position { rank, at: self.at + offset }
    }

    /// The depth of a bucket, from its second word; `None` if the bucket was never used.
    pub fn depth(self, number: u64, link: Link) -> Option<u32> {
        let is_first = number < 1 << self.bits;
        (is_first || link.depth() > 0).then(|| self.bits + link.depth())
    }
}

/// A mask of the lowest bits of a hash.
pub(crate) fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A bucket's first word: its version, and its holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(pub u64);

const HOLDER: u64 = 0xffff;
const SPLIT: u64 = 1 << 16;
const ONE: u64 = 1 << 17;

impl Version {
    /// The rank that holds the bucket; `None` if no rank does.
    pub fn holder(self) -> Option<usize> {
        ((self.0 & HOLDER) as usize).checked_sub(1)
    }

    pub fn is_split(self) -> bool {
        self.0 & SPLIT != 0
    }

    /// The bucket's version while a rank holds it to change one slot.
    pub fn held(self, rank: usize) -> Version {
        Version(self.free().0 | (rank as u64 + 1))
    }

    /// The bucket's version while a rank holds it to change many slots.
    pub fn split(self, rank: usize) -> Version {
        Version(self.held(rank).0 | SPLIT)
    }

    /// The version after a release without changes.
    pub fn free(self) -> Version {
        Version(self.0 & !(HOLDER | SPLIT))
    }

    /// The version after a release with changes.
    pub fn next(self) -> Version {
        Version(self.free().0.wrapping_add(ONE))
    }
}

/// The second word of a line: the depth, and the line behind this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(pub u64);

impl Link {
    pub fn depth(self) -> u32 {
        (self.0 >> 40) as u32
    }

    pub fn deepened(self, depth: u32) -> Link {
        Link(u64::from(depth) << 40 | self.0 & mask(40))
    }

    /// The line linked behind this one, in the same part.
    pub fn behind(self, rank: usize) -> Option<Position> {
        let lines = (self.0 & mask(40)) as usize;
        (lines != 0).then_some(Position { rank, at: lines * LINE })
    }

    pub fn to(self, line: Option<Position>) -> Link {
        Link(self.0 & !mask(40) | line.map_or(0, |line| (line.at / LINE) as u64))
    }
}

/// The content of a slot that is not vacant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub u64);

/// Entries of this many words or more have their size in their first words only.
pub(crate) const LONG: usize = 0xfff;

impl Slot {
    pub fn new(entry: Position, words: usize, tag: u64) -> Slot {
        let lines = (entry.at / LINE) as u64;
        debug_assert!(
            lines <= mask(32),
            "byte {} is beyond the reach of a slot: `Options` should have refused the part's size",
            entry.at
        );
        Slot(tag << 44 | (words.min(LONG) as u64) << 32 | lines)
    }

    pub fn entry(self, rank: usize) -> Position {
        Position { rank, at: (self.0 & mask(32)) as usize * LINE }
    }

    /// The number of words of the entry; [`LONG`] means this number or more.
    pub fn words(self) -> usize {
        (self.0 >> 32 & mask(12)) as usize
    }

    pub fn tag(self) -> u64 {
        self.0 >> 44
    }
}

/// The least displacement that a slot can't hold, in bytes.
pub(crate) const REACH: usize = LINE << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_store_and_return_their_fields() {
        let entry = Position { rank: 3, at: REACH - LINE };
        let slot = Slot::new(entry, 77, 0xf_abcd);
        assert_eq!((slot.entry(3), slot.words(), slot.tag()), (entry, 77, 0xf_abcd));
        assert_eq!(Slot::new(entry, 1 << 20, 0).words(), LONG);

        let link = Link(0).deepened(9).to(Some(entry)).deepened(10);
        assert_eq!((link.depth(), link.behind(3)), (10, Some(entry)));
        assert_eq!((link.to(None).depth(), link.to(None).behind(3)), (10, None));

        let free = Version(41 << 17);
        assert_eq!((free.holder(), free.is_split()), (None, false));
        assert_eq!(free.split(16_383).holder(), Some(16_383));
        assert!(free.split(0).is_split() && !free.held(0).is_split());
        assert_eq!(free.split(5).free(), free);
        assert_eq!(free.held(5).next(), Version(42 << 17));
    }

    #[test]
    fn a_zero_link_belongs_to_first_row_buckets_only() {
        let layout = Layout { at: 0, bytes: 1 << 20, bits: 4 };
        assert_eq!(layout.depth(15, Link(0)), Some(4));
        assert_eq!(layout.depth(16, Link(0)), None);
        assert_eq!(layout.depth(16, Link(0).deepened(1)), Some(5));
        assert!(Layout::fixed(4) <= layout.heap().at && layout.heap().at.is_multiple_of(LINE));
    }
}
