//! Writes a process's file from inside the traced program.
//!
//! Nothing here allocates memory, acquires a lock, or waits. It makes system calls directly; only
//! [`modules`] asks the loader which objects are loaded. So it may be used where the program's own
//! allocator must not be called.
//!
//! ```no_run
//! use syncline_trace::layout::{SectionRecord, WordRecord};
//! use syncline_trace::writer::{Contents, File, Start, modules};
//!
//! # fn trace(start: &Start<'_>, section: &SectionRecord, words: &[WordRecord]) -> Option<()> {
//! let file = File::create(start).ok()?;       // once a process
//! modules::note_loaded(file);
//! let mut writer = file.thread(4711, 0x7000_0000..0x7080_0000, start.started)?; // once a thread
//! writer.section(section, &Contents { words, ..Contents::default() }); // after the release
//! # Some(())
//! # }
//! ```
//!
//! A forked child has the same mapping. The writers notice that they are in a child and drop all
//! records, since the child makes a file of its own.

mod append;
mod create;
mod file;
pub mod modules;

pub use append::Writer;
pub use create::Start;
pub use file::File;

pub use crate::packed::Contents;
pub use syncline_interpose::Folder;
