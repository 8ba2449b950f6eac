//! The information in a program's files: the names of its addresses, and what its instructions do.
//!
//! - [`mod@file`]: one file's symbols, debug information, unwind tables and calls;
//! - [`executable`]: how a program is loaded, and whether it was built with a sanitizer;
//! - `section`: critical sections, whose instructions are followed from an acquisition to its
//!   release; functions that acquire a lock on behalf of their callers; loops that sleep or spin;
//! - [`symbols`]: the names of the addresses of one process, and which frame to show for a stack;
//! - [`locate`]: the reverse look-up, from a name in a report to addresses;
//! - [`model`]: the results, as plain data.
//!
//! A file's names are read when they are first needed, and only once, however many processes mapped
//! the file. Its instructions are read again for each group of questions.

pub mod executable;
pub mod file;
pub mod locate;
pub mod model;
pub mod section;
pub mod symbols;
