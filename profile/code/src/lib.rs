//! The information in a program's files: the names of its addresses, and what its instructions do.
//!
//! - [`mod@file`]: one file's symbols, debug information, unwind tables and calls;
//! - [`executable`]: how a program is loaded, and whether it was built with a sanitizer;
//! - `section`: critical sections, followed through the instructions from an acquisition to its
//!   release, and functions that take a lock for their callers;
//! - [`symbols`]: what the addresses of one process mean, and which frame of a stack to show for it;
//! - [`locate`]: the other way round, from a name in a report to addresses.
//!
//! Everything is read once, when it is first asked for, whatever the number of processes that
//! mapped a file.

pub mod executable;
pub mod file;
pub mod locate;
pub mod model;
pub mod section;
pub mod symbols;
