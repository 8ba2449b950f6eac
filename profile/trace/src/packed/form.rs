//! Constants and types of the packed form that the writer and the reader share.

use crate::layout::{NONE, ObjectRecord, SectionRecord, StepRecord, SystemCallRecord, WordRecord};

/// The arrays of a section.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// Blocks of the heap that it touched.
    pub objects: &'a [ObjectRecord],
    /// Its address set, each word once, in any order.
    pub words: &'a [WordRecord],
    /// The instructions that it executed, in any order. If an instruction occurs more than once,
    /// the reader adds up its entries.
    pub steps: &'a [StepRecord],
    /// Its system calls, each number once.
    pub system_calls: &'a [SystemCallRecord],
}

/// The values of the section before, relative to which the next section of a chunk is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    pub lock: u64,
    pub site: u64,
    pub acquired: u64,
    pub incarnation: u64,
    /// The address of its first word.
    pub word: u64,
}

impl Before {
    /// The state after a section whose first word has the address `word`; `None` if it has no
    /// words.
    pub fn after(self, section: &SectionRecord, word: Option<u64>) -> Before {
        let SectionRecord { lock, site, acquired, incarnation, .. } = *section;
        Before { lock, site, acquired, incarnation, word: word.unwrap_or(self.word) }
    }
}

/// How many times as long as the rest of a section a form may be if it is given by its number.
pub const LONGER: usize = 4;
/// Bytes of a form's number.
pub const NUMBER: usize = 2;
/// Bytes of a form's length.
pub const LENGTH: usize = 4;

/// Bits of a word's first byte, which say which fields of [`WordRecord`] follow.
pub mod with {
    pub const READER: u8 = 1 << 0;
    pub const WRITER: u8 = 1 << 1;
    pub const PLAINLY_READ: u8 = 1 << 2;
    pub const PLAINLY_WRITTEN: u8 = 1 << 3;
    /// A byte says which bytes were read; without this bit, all or none were.
    pub const READ: u8 = 1 << 4;
    pub const READ_ALL: u8 = 1 << 5;
    pub const WRITTEN: u8 = 1 << 6;
    pub const WRITTEN_ALL: u8 = 1 << 7;
}

/// Differences of addresses from this value on are written as a number of their own.
pub const FAR: u64 = 1 << 11;

/// How a step accesses memory: not at all.
pub const NO_ACCESS: u64 = 0;
/// A step accesses memory each time it is executed; the form has the distance from the lowest to
/// the highest byte.
pub const ALL_ACCESS: u64 = 1;
/// A step does not access memory each time; the form has `accesses`.
pub const SOME_ACCESS: u64 = 2;
/// A step accesses memory each time; the data has the distance.
pub const WIDE_ACCESS: u64 = 3;
/// From this distance on, an access is a [`WIDE_ACCESS`]: the distance comes from several
/// executions.
pub const WIDE: u64 = 64;

const _: () = assert!(NONE == u32::MAX, "what is not known is written as 0");
