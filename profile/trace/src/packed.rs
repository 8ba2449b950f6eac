//! The packed form of a section, which has few bytes.
//!
//! A section's record and its arrays consist of numbers, most of which are small or close to an
//! earlier number. So a number is written as its difference from the earlier one, if there is one.
//! Each byte has seven bits, the lowest first, and its highest bit is set in all bytes but the last
//! (LEB128); the sign of a difference is its lowest bit.
//!
//! A section mostly executes the same code as an earlier one, with other data. So a section is
//! written in two parts: its *form*, which depends on the code alone, and the rest, which is times
//! and addresses of data. A form that occurred before in the chunk is given by its number. A
//! section of fifty instructions takes some 200 bytes; its plain records take 4 KiB. So the program
//! has more memory left, and has to allocate fewer pages of the file.
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
//! The addresses of a form's instructions are written relative to the section's site, and the first
//! section of a chunk relative to zeros, so each chunk can be read by itself. A form is given by
//! its number only if it is at most `LONGER` times as long as the rest of the section, so that few
//! bytes never expand to unlimited memory.

mod form;
mod read;
mod write;

pub use form::Contents;
pub(crate) use read::{Arrays, Reading};
pub use write::Writing;
