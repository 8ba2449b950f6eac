//! What both sides of a packed section agree on.

use crate::layout::{NONE, ObjectRecord, SectionRecord, StepRecord, SystemCallRecord, WordRecord};

/// The arrays of a section.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// Blocks of the heap that it touched.
    pub objects: &'a [ObjectRecord],
    /// Its address set, each word once, in any order.
    pub words: &'a [WordRecord],
    /// The instructions that it executed, in any order; if one comes more than once, the reader
    /// adds them up.
    pub steps: &'a [StepRecord],
    /// Its system calls, each number once.
    pub system_calls: &'a [SystemCallRecord],
}

/// The state relative to which the next section of a chunk is written, besides the forms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    pub lock: u64,
    pub site: u64,
    pub acquired: u64,
    pub incarnation: u64,
    /// Its first word.
    pub word: u64,
}

impl Before {
    /// The meaning of what follows a section's first word, if there is one.
    pub fn after(self, section: &SectionRecord, word: Option<u64>) -> Before {
        let SectionRecord { lock, site, acquired, incarnation, .. } = *section;
        Before { lock, site, acquired, incarnation, word: word.unwrap_or(self.word) }
    }
}

/// How many times as long as the rest of a section a form may be if it is only referred to.
pub const LONGER: usize = 4;
/// Bytes of a form's number.
pub const NUMBER: usize = 2;
/// Bytes of its length.
pub const LENGTH: usize = 4;

/// [`WordRecord`]'s fields that follow.
pub mod with {
    pub const READER: u8 = 1 << 0;
    pub const WRITER: u8 = 1 << 1;
    pub const PLAINLY_READ: u8 = 1 << 2;
    pub const PLAINLY_WRITTEN: u8 = 1 << 3;
    /// Which bytes were read; if not, all or none were.
    pub const READ: u8 = 1 << 4;
    pub const READ_ALL: u8 = 1 << 5;
    pub const WRITTEN: u8 = 1 << 6;
    pub const WRITTEN_ALL: u8 = 1 << 7;
}

/// Differences of addresses from here on don't share their number.
pub const FAR: u64 = 1 << 11;

/// How a step is accessed: not at all.
pub const NO_ACCESS: u64 = 0;
/// Each time that it is executed, and the form says which bytes from the lowest on.
pub const ALL_ACCESS: u64 = 1;
/// Not always: `accesses` follows.
pub const SOME_ACCESS: u64 = 2;
/// Each time, and the data says which bytes.
pub const WIDE_ACCESS: u64 = 3;
/// An access that reaches further than this is [`WIDE_ACCESS`]: it is of several executions.
pub const WIDE: u64 = 64;

const _: () = assert!(NONE == u32::MAX, "what is not known is written as 0");
