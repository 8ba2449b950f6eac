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
//!            the numbers of words, steps, objects and calls; then of each of these
//!   objects    site (difference to the object before), size
//!   words      a byte that says which fields follow, then read, written, reader and writer
//!              (differences to the instruction before), the object's index + 1
//!   steps      a number: eight times the difference of its address to the step before, or eight
//!              times [`FAR`]; plus 4 if `times` is that of the step before; plus how it accesses
//!              memory. Then the difference if it is far, `times` if it is another, and
//!              `accesses` or high - low, according to how it accesses memory
//!   calls      number, times
//! head       the other fields of SectionRecord in their order. lock, site, acquired and incarnation are
//!            differences to the section before in the chunk; released and order, to acquired
//! data
//!   objects    start (difference to the object before), serial
//!   words      address / 8 (difference to the word before)
//!   steps      for steps that access memory: low (difference to the step before), and
//!              high - low if the form doesn't have it
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
