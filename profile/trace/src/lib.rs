//! Traces: how the memory accesses of a program's critical sections are kept on disk, written and
//! read.
//!
//! A trace is a folder like a recording, with one file for each process (`PID.trace`) and a
//! [`Session`](syncline_recording::Session). The tracing library maps its process's file into
//! memory and appends complete records. So the file can be read while the program runs, and after
//! `kill -9`.
//!
//! - [`layout`] is the format of the file: plain structures that the writer and the reader share;
//! - [`packed`] is the form of a section in the file, which has few bytes;
//! - [`writer`] appends to the file from inside the traced program: it does not allocate memory or
//!   acquire locks, and calls the C library only to list the loaded objects;
//! - [`Trace`] reads a file and trusts none of its bytes: if they make no sense, the result is an
//!   [`Error`], and never a panic.
//!
//! This crate does not depend on how sections are traced, nor on how the trace is used.

pub mod layout;
pub mod packed;
mod reader;
mod records;
pub mod writer;

pub use reader::{Section, StackPart, Thread, Trace, trace_files};
pub use syncline_recording::Error;
