//! The trace: the memory accesses of a program's critical sections, on disk.
//!
//! A trace is a folder like a recording, with one file for each process (`PID.trace`) and a
//! [`Session`](syncline_recording::Session). The tracing library maps its process's file and
//! appends whole records, so the file can be read while the program runs, and after `kill -9`.
//!
//! - [`layout`] is the file, field by field: plain structures that both sides share;
//! - [`packed`] is the form in which a section is written in few bytes;
//! - [`writer`] appends to it from inside any program: it does not allocate, lock, or call the C
//!   library except to list the loaded objects;
//! - [`Trace`] reads a file and trusts none of its bytes: whatever they are, the result is a value
//!   or an [`Error`], never a panic.
//!
//! This crate does not depend on how sections are traced, nor on how the trace is used.

pub mod layout;
pub mod packed;
mod reader;
mod records;
pub mod writer;

pub use reader::{Section, StackPart, Thread, Trace, trace_files};
pub use syncline_recording::Error;
