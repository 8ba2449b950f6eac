//! The recording: how the counts of a program's locks are laid out on disk.
//!
//! A recording is a folder with a file for each process that was recorded (a forked child usually
//! shares its parent's), and a [`Session`] that says what was run. The preload library maps its
//! process's file into memory and counts in it directly, so the file is complete at every moment:
//! it can be read while the program runs, and after `kill -9`.
//!
//! - [`layout`] is the file, field by field: plain structures that both sides share;
//! - [`live`] is the protocol between a command and the recorder in a process that the command
//!   attaches to;
//! - [`op`] is the list of operations that are counted;
//! - [`ProcessFile`] reads a file and trusts none of its bytes: whatever they are, the
//!   answer is a value or an [`Error`], never a panic;
//! - [`source`] reads the bytes of such files, and of the files of traces;
//! - [`ProcessFile::since`] subtracts an earlier reading, which leaves the counts of a window of
//!   time, and [`ProcessFile::packed`] makes a file of them;
//! - [`Windows`] says which stretches of the run a thread's log keeps;
//! - [`writer`] lays a file out and writes it, from inside the program, without a lock;
//! - [`keeper`] keeps the last windows of time as recordings of their own; [`Recent`] reads them;
//! - [`Writers`] finds the processes that still write to a recording; [`Living`] finds its running
//!   processes, and [`numbers`] what numbers they have in their own namespaces;
//! - [`schedstat`] reads how long the kernel says that a thread ran;
//! - [`clock`] chooses the clock whose ticks a file counts in;
//! - [`folder`] is how files in the folder are opened, even if other users may write there;
//! - [`Session`] says what was run, and how it ended;
//! - [`Samples`] say where the program's threads were seen on a processor, and where they slept.
//!
//! This crate knows nothing of symbols, findings or reports, and does not decide what is counted.
//! The recorder and the analysis both depend on it, and not on each other.

pub mod clock;
mod error;
mod family;
pub mod folder;
pub mod keeper;
pub mod layout;
pub mod live;
mod living;
pub mod numbers;
pub mod op;
mod packed;
mod process;
mod reader;
mod recent;
mod rows;
mod running;
mod samples;
pub mod schedstat;
mod session;
mod shell;
mod since;
pub mod source;
mod windows;
pub mod writer;
mod writers;

pub use error::Error;
pub use family::processes;
pub use living::Living;
pub use op::{Class, Op, Primitive};
pub use process::{ProcessFile, Row, Thread, text};
pub use recent::{Recent, packed_name};
pub use samples::{SampledProcess, SampledThread, Samples};
pub use session::{Ending, Refusal, Session, check_answers, process_files};
pub use shell::command_line;
pub use windows::Windows;
pub use writers::Writers;
