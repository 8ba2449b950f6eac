//! A section in few bytes.
//!
//! A record of a section and its arrays are numbers, of which most are small or near to one that
//! came before. So each is written as its difference to that one where there is one, seven bits to
//! a byte, the lowest first, with the highest bit set in all bytes but the last (LEB128; the sign of
//! a difference is its lowest bit). A section of fifty instructions takes some 600 bytes, where its
//! plain records take 4 KiB: less memory for the program, and fewer pages to be made real by it.
//!
//! ```text
//! section    the fields of SectionRecord in their order; lock, site, acquired and incarnation as
//!            differences to the section before in the same chunk, released and order to acquired
//! objects    start and site, as differences to the object before; size, serial
//! words      a byte that says which fields follow, then address / 8 (difference to the word
//!            before), read, written, reader and writer (differences to the instruction before),
//!            the object's place + 1
//! steps      address (difference to the step before); four times `times`, plus 0 if nothing was
//!            accessed, 1 if always, 2 if `accesses` follows; low (difference to the step's before),
//!            high - low
//! calls      number, times
//! ```
//!
//! The first section of a chunk is told from zeros, so each chunk is read by itself.

mod read;
mod write;

use crate::layout::{NONE, ObjectRecord, StepRecord, SystemCallRecord, WordRecord};

pub(crate) use read::{Arrays, read};
pub use write::write;

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

/// What the next section of a chunk is told from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    lock: u64,
    site: u64,
    acquired: u64,
    incarnation: u64,
    /// Its first word, and its first instruction.
    word: u64,
    step: u64,
}

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

const NO_ACCESS: u64 = 0;
const ALL_ACCESS: u64 = 1;
const SOME_ACCESS: u64 = 2;

const _: () = assert!(NONE == u32::MAX, "what is not known is written as 0");
