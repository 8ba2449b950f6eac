//! Reads the file of one process, whatever its bytes are.
//!
//! The file may be cut short, foreign, damaged, or still being written. So it is read
//! with ordinary reads and never mapped (a mapped file that shrinks kills its reader),
//! every offset and count is checked against the file's real size, and what is not
//! plausible is an [`Error`]; [`Source`] does that. A thread whose table was exchanged while
//! it was being read is read once more.

use std::io;
use std::path::{Path, PathBuf};

use crate::layout::{
    EventRecord, Header, MAGIC, ModuleRecord, NestRecord, STACK_FRAMES, StackRecord, ThreadRecord,
    VERSION, WaitRecord,
};
use crate::source::Source;
use crate::{Op, Windows, family, layout, running};

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0}: not a Syncline recording")]
    Foreign(PathBuf),
    #[error("{0}: not a plain file; links are not followed")]
    NotPlain(PathBuf),
    #[error(
        "{path}: belongs to user {owner}, and its folder to user {folder}; copy it if you trust it"
    )]
    Owner { path: PathBuf, owner: u32, folder: u32 },
    #[error("{0}: empty; the disk had no room when its process began")]
    NoRoom(PathBuf),
    #[error("{path}: recorded in format {found}, and this Syncline reads format {read}")]
    Version { path: PathBuf, found: u32, read: u32 },
    #[error("{0}: recorded on a machine of another byte order")]
    ByteOrder(PathBuf),
    #[error("{path}: the file is damaged or cut short: {what}")]
    Damaged { path: PathBuf, what: String },
    #[error("{path}: nothing was recorded: no process of `{command}` made a call that is counted")]
    Nothing { path: PathBuf, command: String },
    #[error(
        "{path}: the last run, `{command}`, recorded nothing: {why}; the folder's recording is of \
         an earlier run, and can be read once refused.json is removed from the folder"
    )]
    Refused { path: PathBuf, command: String, why: String },
    #[error("{0}: no recording in this folder; `syncline record -- PROGRAM` makes one")]
    Empty(PathBuf),
}

/// A row, with its waits if it has any.
#[derive(Clone, Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// The counters.
    pub counts: layout::Row,
    /// The waits.
    pub waits: Option<Box<WaitRecord>>,
    /// The locks that were held already, if any were ever seen.
    pub nest: Option<Box<NestRecord>>,
    /// Whether its thread took more locks by this call than get rows of their own: the distribution
    /// of its calls over them is then an estimate, and some locks may be missing.
    pub sampled: bool,
}

/// A thread and its rows.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its index in the file, by which others refer to it.
    pub index: u32,
    /// The record.
    pub record: ThreadRecord,
    /// Its rows, in no order.
    pub rows: Vec<Row>,
    /// The events that its log kept, in the order in which they ended; none if the file was
    /// read without logs.
    pub log: Vec<EventRecord>,
    /// The windows of time that those events are from.
    pub windows: Windows,
}

/// All that a file holds of one process.
#[derive(Clone, Debug)]
pub struct ProcessFile {
    /// Where it was read from: the file, and behind `#` the page of a forked child in it.
    pub path: PathBuf,
    /// Its header.
    pub header: Header,
    /// When it was read, in ticks, if its process still ran then.
    pub now: Option<u64>,
    /// The code that was mapped.
    pub modules: Vec<ModuleRecord>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The stacks; number `n` is at index `n`. Index 0 and the indices of other processes' stacks
    /// hold none.
    pub stacks: Vec<StackRecord>,
}

impl ProcessFile {
    /// Reads a process of a file, also while it runs: the first, or the one whose page is named.
    ///
    /// # Errors
    /// [`Error`], if the file can't be read or is not a recording that this version
    /// understands. Damage is found where it makes the structure unreadable; a counter
    /// that was overwritten is not noticed.
    pub fn open(path: &Path) -> Result<ProcessFile, Error> {
        ProcessFile::read(path, true)
    }

    /// Reads the file without the threads' logs, which may be large: for callers that poll.
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
        let running = running::find(&header, source.meta(), &file);
        if let Some(process) = &running {
            threads.iter_mut().for_each(|thread| process.look_at(&mut thread.record));
        }
        let now = running.and_then(|process| process.now(&header));
        Ok(ProcessFile { path: path.to_owned(), header, now, modules, threads, stacks })
    }

    /// The executable's path.
    pub fn executable(&self) -> String {
        text(&self.header.executable)
    }

    /// The program's arguments, with its name, except for empty ones at the end.
    pub fn arguments(&self) -> Vec<String> {
        let bytes = &self.header.arguments;
        let Some(last) = bytes.iter().rposition(|&b| b != 0) else { return Vec::new() };
        bytes[..=last].split(|&b| b == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect()
    }

    /// The file of the program that replaced this one in the process (`exec`), if there is one:
    /// `PID.1.syncline` behind `PID.syncline`, and so on.
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

    /// When the process ended, in ticks; when it was read, if it still ran; or when it last
    /// recorded something, if it could not note its end.
    pub fn ended(&self) -> u64 {
        if self.header.ended != 0 {
            return self.header.ended;
        }
        let seen = |t: &Thread| t.record.ended.max(t.record.last_seen);
        let last = self.threads.iter().map(seen).max().unwrap_or(0).max(self.header.started);
        self.now.map_or(last, |now| now.max(last))
    }

    /// Converts ticks to seconds.
    pub fn seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.header.ticks_per_second as f64
    }

    /// The stack of this number, outermost frame last; empty if there is none.
    pub fn stack(&self, number: u32) -> &[u64] {
        match self.stacks.get(number as usize) {
            Some(stack) if number != 0 => {
                &stack.frames[..usize::from(stack.depth).min(STACK_FRAMES)]
            }
            _ => &[],
        }
    }
}

/// Text that ends at a zero byte or with its field.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl ModuleRecord {
    /// The path of the file.
    pub fn path(&self) -> String {
        text(&self.path)
    }

    /// The build-id; empty if there is none.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id[..(self.build_id_len as usize).min(self.build_id.len())]
    }
}

impl ThreadRecord {
    /// The name.
    pub fn name(&self) -> String {
        text(&self.name)
    }
}
