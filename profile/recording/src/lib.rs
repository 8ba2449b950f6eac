//! Recordings: how the counts of a program's locks are kept on disk, written and read.
//!
//! A recording is a folder with a file for each recorded process (but a forked child usually shares
//! its parent's file), and a [`Session`] that says what was run. The preload library maps its
//! process's file into memory and counts in it directly. So the file is complete at every moment,
//! and can be read while the program runs, and after `kill -9`.
//!
//! - [`layout`] is the format of the file: plain structures that the writer and the reader share;
//! - [`live`] is the protocol between a command and the recorder in a process that the command
//!   attaches to;
//! - [`op`] is the list of operations that are counted;
//! - [`ProcessFile`] reads a file and trusts none of its bytes: if they make no sense, the result
//!   is an [`Error`], and never a panic;
//! - [`source`] reads the bytes of such files, and also of the files of traces;
//! - [`ProcessFile::since`] subtracts an earlier reading, so that the counts of a window of time
//!   remain, and [`ProcessFile::packed`] makes a file of these;
//! - [`Windows`] says from which parts of the run a thread's log keeps all events;
//! - [`writer`] makes a file and writes it, from inside the recorded program, without a lock;
//! - [`keeper`] keeps the last windows of time as recordings of their own; [`Recent`] reads them;
//! - [`Writers`] finds the processes that still write to a recording; [`Living`] finds its running
//!   processes, and [`numbers`] the numbers that they have in their own namespaces;
//! - [`schedstat`] reads from the kernel how long a thread ran;
//! - [`clock`] chooses the clock in whose ticks a file has its times;
//! - [`folder`] opens files in the folder safely, even if other users may write there;
//! - [`Session`] says what was run, and how it ended;
//! - [`Samples`] has the places at which the program's threads were seen on a processor, and at
//!   which they slept.
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
pub use samples::{PythonFrame, SampledProcess, SampledThread, Samples, UnreadRequests};
pub use session::{Ending, Refusal, Session, check_answers, process_files};
pub use shell::command_line;
pub use windows::Windows;
pub use writers::Writers;
