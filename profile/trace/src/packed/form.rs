//! Constants and types of the packed form that the writer and the reader share.

use crate::layout::{NONE, ObjectRecord, SectionRecord, StepRecord, SystemCallRecord, WordRecord};

/// The arrays of a section.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// The blocks of the heap that the section touched, and the block that contains its lock.
    pub objects: &'a [ObjectRecord],
    /// The section's address set: each word once, in any order.
    pub words: &'a [WordRecord],
    /// The instructions that the section executed, in any order. If an instruction occurs more than
    /// once, the reader adds up its entries.
    pub steps: &'a [StepRecord],
    /// The section's system calls: each number once.
    pub system_calls: &'a [SystemCallRecord],
}

/// The values of the previous section, relative to which the next section of a chunk is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    pub lock: u64,
    pub site: u64,
    pub acquired: u64,
    pub incarnation: u64,
    /// The address of the first word of the last section that had any.
    pub word: u64,
}

impl Before {
    /// The values after a section whose first word has the address `word`, which is `None` if the
    /// section has no words.
    pub fn after(self, section: &SectionRecord, word: Option<u64>) -> Before {
        let SectionRecord { lock, site, acquired, incarnation, .. } = *section;
        Before { lock, site, acquired, incarnation, word: word.unwrap_or(self.word) }
    }
}

/// A form may be replaced by its number if it is at most this many times as long as the rest of the
/// section.
pub const LONGER: usize = 4;
/// The number of bytes of a form's number.
pub const NUMBER: usize = 2;
/// The number of bytes of a form's length.
pub const LENGTH: usize = 4;

/// The bits of a word's first byte, which say what follows and what the fields of [`WordRecord`]
/// are.
pub mod with {
    pub const READER: u8 = 1 << 0;
    pub const WRITER: u8 = 1 << 1;
    pub const PLAINLY_READ: u8 = 1 << 2;
    pub const PLAINLY_WRITTEN: u8 = 1 << 3;
    /// A byte follows that says which bytes were read. Without this bit, all were read or none.
    pub const READ: u8 = 1 << 4;
    pub const READ_ALL: u8 = 1 << 5;
    pub const WRITTEN: u8 = 1 << 6;
    pub const WRITTEN_ALL: u8 = 1 << 7;
}

/// A difference of addresses that is at least this is written as a number of its own.
pub const FAR: u64 = 1 << 11;

/// A step does not access memory.
pub const NO_ACCESS: u64 = 0;
/// A step accesses memory each time that it is executed. The form has the distance from the lowest
/// to the highest byte.
pub const ALL_ACCESS: u64 = 1;
/// A step accesses memory, but not each time that it is executed. The form has `accesses`.
pub const SOME_ACCESS: u64 = 2;
/// A step accesses memory each time that it is executed. The data has the distance, which is large.
pub const WIDE_ACCESS: u64 = 3;
/// An access is a [`WIDE_ACCESS`] if the distance is at least this. Such a distance results from
/// several executions with different data, so it does not belong to the form.
pub const WIDE: u64 = 64;

const _: () = assert!(NONE == u32::MAX, "what is not known is written as 0");
