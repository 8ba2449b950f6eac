//! Reads one process from a file, which may have any content.
//!
//! The file may be cut short, damaged, of another kind, or still being written. So [`Source`] uses
//! ordinary reads and does not map the file (if a mapped file shrinks, its reader is killed). It
//! checks every offset and count against the file's real size, and returns an [`Error`] for
//! anything that makes no sense. A thread whose table was exchanged while it was being read is read
//! again.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::layout::{Header, MAGIC, VERSION};
use crate::process::ProcessFile;
use crate::source::Source;
use crate::{family, running};

impl ProcessFile {
    /// Reads a process, even while it runs. For a file's first process, `path` is the path of the
    /// file. For a child, `#` and a page follow.
    ///
    /// # Errors
    /// [`Error`], if the file can't be read or is not a recording that this version understands.
    /// Damage is noticed if it makes the structure unreadable, but not if it only changes a
    /// counter.
    pub fn open(path: &Path) -> Result<ProcessFile, Error> {
        ProcessFile::read(path, true)
    }

    /// Like [`ProcessFile::open`], but does not read the threads' logs, which may be large. For
    /// callers that read a process again and again.
    ///
    /// # Errors
    /// Same errors as [`ProcessFile::open`].
    pub fn open_counts(path: &Path) -> Result<ProcessFile, Error> {
        ProcessFile::read(path, false)
    }

    fn read(path: &Path, with_logs: bool) -> Result<ProcessFile, Error> {
        let (file, page) = family::place(path);
        let source = Source::open(&file)?;
        let first: Header = source.first_page(MAGIC, VERSION)?;
        let header = source.header(&first, page)?;
        let modules = source.modules(&first, page)?;
        let mut threads = Vec::new();
        let mut arena_bytes = 0;
        for (index, record) in source.thread_records(&header, page)? {
            arena_bytes += source.bytes_of(&record)?;
            if arena_bytes > source.size() {
                return Err(source.damaged("its tables and logs overlap"));
            }
            threads.push(source.thread(&header, index, record, with_logs)?);
        }
        let stacks = source.stacks(&first, &threads)?;
        let running = running::find(&header, source.meta());
        if let Some(process) = &running {
            threads.iter_mut().for_each(|thread| process.look_at(&mut thread.record));
        }
        let now = running.and_then(|process| process.now(&header));
        Ok(ProcessFile { path: path.to_owned(), header, now, modules, threads, stacks })
    }

    /// The path of the file for the next program that this process executes (`exec`), whether or
    /// not it exists. After `PID.syncline` that is `PID.1.syncline`, and so on. A forked child in
    /// its parent's file has no file of its own yet, so its next one is `PID.syncline`.
    pub fn next_program(&self) -> PathBuf {
        let (file, page) = family::place(&self.path);
        if page != 0 {
            return file.with_file_name(format!("{}.syncline", self.header.pid));
        }
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let (pid, number) = stem.split_once('.').unwrap_or((&stem, "0"));
        let next = number.parse::<u32>().unwrap_or(0).saturating_add(1);
        self.path.with_file_name(format!("{pid}.{next}.syncline"))
    }
}
