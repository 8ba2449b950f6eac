//! Writes a process's file from inside the recorded program.
//!
//! ```text
//! File       a process's mapped file: its header, its regions, pages of the arena
//!   Family   the memory that forked children share with the process that made the file
//!   Room     where tables and logs of threads get their space
//!   Shelf    tables and logs that were given back
//! Table      a thread's rows
//! Recent     the latest calls of a thread, each with its row
//! Log        a thread's events
//! Tail       space for a thread's wait and nest records
//! ```
//!
//! The caller decides what is counted, and in which row. This module only knows the format of the
//! file, and how parts of it are claimed. Nothing here allocates memory, acquires a lock, or waits.
//! So all of it may be used inside a lock function, in a signal handler, and after a fork. A thread
//! writes only to its own record, tables and log, except that the thread which ends the process or
//! the recording also notes the processor times of the others. Parts that threads and processes
//! share are claimed by one atomic operation.
//!
//! If all bytes are zero, a [`Shelf`], [`Table`], [`Recent`], [`Log`] or [`Tail`] is empty. So
//! these can lie in memory that the kernel wipes in a forked child.

mod children;
mod counter;
mod create;
mod family;
mod file;
mod join;
mod log;
mod modules;
mod number;
mod recent;
mod room;
pub mod sampling;
mod shelf;
mod stack_index;
mod stacks;
mod table;
mod tail;
mod threads;
mod watermark;

pub use children::{child_ended, child_ended_elsewhere};
pub use counter::{add, add_one};
pub use create::Start;
pub use file::File;
pub use join::Child;
pub use log::Log;
pub use recent::{Noted, Recent};
pub use room::Room;
pub use shelf::Shelf;
pub use stacks::Stack;
pub use table::{Kind, LOCKS, PLACES, Table, hash_of_lock, hash_of_place};
pub use tail::Tail;
pub use threads::{ThreadStart, end_thread};

pub use syncline_interpose::Folder;
