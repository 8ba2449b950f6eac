//! A section in few bytes.
//!
//! A record of a section and its arrays are numbers, of which most are small or near to one that
//! came before. So each is written as its difference to that one where there is one, seven bits to
//! a byte, the lowest first, with the highest bit set in all bytes but the last (LEB128; the sign of
//! a difference is its lowest bit).
//!
//! What a section executes is mostly what another one has executed, with other data. So a section is
//! written in two parts: its *form*, which hangs on the code alone, and the rest, which is times and
//! addresses of data. A form that the chunk has had is named by its number. A section of fifty
//! instructions takes some 200 bytes, where its plain records take 4 KiB: less memory for the
//! program, and fewer pages to be made real by it.
//!
//! ```text
//! record     number of the form (2 bytes), or 0, the form's length (4 bytes), and the form; the head;
//!            the data. Forms are numbered from 1 on in each chunk
//! form       op, instructions, memory_instructions, allocations, frees;
//!            how many words, steps, objects and calls there are; then of these
//!   objects    site (difference to the object's before), size
//!   words      a byte that says which fields follow, then read, written, reader and writer
//!              (differences to the instruction before), the object's place + 1
//!   steps      eight times its address (difference to the step before), or [`FAR`] and then that;
//!              plus 4 if `times` is as the step's before; plus how it is accessed. `times`, if it
//!              is another; then what the access says: `accesses`, or high - low
//!   calls      number, times
//! head       the other fields of SectionRecord in their order; lock, site, acquired and incarnation
//!            as differences to the section before in the same chunk, released and order to acquired
//! data
//!   objects    start (difference to the object's before), serial
//!   words      address / 8 (difference to the word before)
//!   steps      of those that access something: low (difference to the step's before), and
//!              high - low if the form doesn't say it
//! ```
//!
//! The instructions of a form are told from the section's site, and the first section of a chunk from
//! zeros, so each chunk is read by itself. A form is named only where it is at most `LONGER` times as
//! long as the rest, so that a few bytes never stand for endless memory.

mod read;
mod write;

use crate::layout::{NONE, ObjectRecord, SectionRecord, StepRecord, SystemCallRecord, WordRecord};

pub(crate) use read::{Arrays, Reading};
pub use write::Writing;

/// The arrays of a section.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// Blocks of the heap that it touched.
    pub objects: &'a [ObjectRecord],
    /// Its address set, each word once, in any order.
    pub words: &'a [WordRecord],
    /// The instructions that it executed, in any order; where one comes more than once, who reads
    /// it adds up.
    pub steps: &'a [StepRecord],
    /// Its system calls, each number once.
    pub system_calls: &'a [SystemCallRecord],
}

/// What the next section of a chunk is told from, beside the forms.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    lock: u64,
    site: u64,
    acquired: u64,
    incarnation: u64,
    /// Its first word.
    word: u64,
}

impl Before {
    /// What follows on a section with this first word, if it has one.
    fn after(self, section: &SectionRecord, word: Option<u64>) -> Before {
        let SectionRecord { lock, site, acquired, incarnation, .. } = *section;
        Before { lock, site, acquired, incarnation, word: word.unwrap_or(self.word) }
    }
}

/// How many times as long as the rest of a section a form may be that is not written with it.
const LONGER: usize = 4;
/// Bytes of a form's number.
const NUMBER: usize = 2;
/// Bytes of its length.
const LENGTH: usize = 4;

/// [`WordRecord`]'s fields that follow.
mod with {
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
const FAR: u64 = 1 << 11;

/// How a step is accessed: not at all.
const NO_ACCESS: u64 = 0;
/// Each time that it is executed, and the form says which bytes from the lowest on.
const ALL_ACCESS: u64 = 1;
/// Not always: `accesses` follows.
const SOME_ACCESS: u64 = 2;
/// Each time, and the data says which bytes.
const WIDE_ACCESS: u64 = 3;
/// An access that reaches further than this is [`WIDE_ACCESS`]: it is of several executions.
const WIDE: u64 = 64;

const _: () = assert!(NONE == u32::MAX, "what is not known is written as 0");
