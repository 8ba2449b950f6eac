//! The form in which a section is written to the file, in few bytes.
//!
//! A section's record and its arrays consist of numbers, most of which are small or close to an
//! earlier number. So if there is such an earlier number, the difference from it is written. The
//! sign of a difference becomes its lowest bit. Each byte has seven bits of a number, the lowest
//! first; the byte's highest bit is set in all bytes but the last one (LEB128).
//!
//! Most sections execute the same code as an earlier one, with other data. So a section is written
//! in two parts: its *form*, which depends only on the code, and the rest, which is times and
//! addresses of data. If the chunk already has the same form, only its number is written. A section
//! of fifty instructions takes about 200 bytes, whereas its plain records would take 4 KiB. So the
//! program has more memory left, and fewer pages of the file have to be allocated.
//!
//! ```text
//! record     the form's number (2 bytes), or, for a new form, 0, its length (4 bytes) and the form;
//!            then the head and the data. In each chunk, forms are numbered from 1 on
//! form       op, instructions, memory_instructions, allocations, frees;
//!            the numbers of words, steps, objects and system calls; then for each of these:
//!   objects    site (difference from the previous object), size
//!   words      a byte that says which fields follow, then read, written, reader and writer
//!              (differences from the previous instruction), the object's index + 1
//!   steps      a number: eight times the difference of its address from the previous step, but at
//!              most eight times `FAR`; plus 4 if `times` is that of the previous step; plus how it
//!              accesses memory (0 to 3). Then the difference, if it is at least `FAR`; `times`, if
//!              it is another; and `accesses` or high - low, depending on how it accesses memory
//!   system calls   number, times
//! head       the other fields of SectionRecord, in their order. lock, site, acquired and incarnation
//!            are differences from the previous section of the chunk; released and order are
//!            differences from acquired
//! data
//!   objects    start (difference from the previous object), serial
//!   words      address / 8 (difference from the previous word)
//!   steps      only for steps that access memory: low (difference from the previous step), and
//!              high - low if the form does not have it
//! ```
//!
//! The addresses of a form's instructions are written relative to the section's call site. The
//! first section of a chunk is written relative to zeros, so that each chunk can be read by itself.
//! A form is replaced by its number only if it is at most `LONGER` times as long as the rest of the
//! section. Otherwise a small file could expand to any amount of memory.

mod form;
mod read;
mod write;

pub use form::Contents;
pub(crate) use read::{Arrays, Reading};
pub use write::Writing;
