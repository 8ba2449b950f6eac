//! Reads the file of one process, whatever its bytes are.
//!
//! The file may be cut short, foreign, damaged, or still being written. So it is read
//! with ordinary reads and never mapped (a mapped file that shrinks kills its reader),
//! every offset and count is checked against the file's real size, and what is not
//! plausible is an [`Error`]. A thread whose table was exchanged while it was being read is
//! read once more.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};

use crate::layout::{
    BYTE_ORDER, EventRecord, HEADER_SIZE, Header, MAGIC, ModuleRecord, NestRecord, Region,
    STACK_FRAMES, StackRecord, THREAD_NONE, ThreadRecord, UNIT, VERSION, WaitRecord,
};
use crate::{Op, layout};

const ROW_SIZE: u64 = size_of::<layout::Row>() as u64;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0}: not a Syncline recording")]
    Foreign(PathBuf),
    #[error("{path}: recorded in format {found}, and this Syncline reads format {VERSION}")]
    Version { path: PathBuf, found: u32 },
    #[error("{0}: recorded on a machine of another byte order")]
    ByteOrder(PathBuf),
    #[error("{path}: the file is damaged or cut short: {what}")]
    Damaged { path: PathBuf, what: String },
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
}

/// A thread and its rows.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its place in the file, by which others refer to it.
    pub index: u32,
    /// The record.
    pub record: ThreadRecord,
    /// Its rows, in no order.
    pub rows: Vec<Row>,
    /// The events that are still in its ring, in the order in which they ended.
    pub log: Vec<EventRecord>,
}

/// All that the file of one process holds.
#[derive(Clone, Debug)]
pub struct ProcessFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// The first page.
    pub header: Header,
    /// The code that was mapped.
    pub modules: Vec<ModuleRecord>,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The stacks; number `n` is at place `n`, and place 0 holds none.
    pub stacks: Vec<StackRecord>,
}

impl ProcessFile {
    /// Reads the file, also while its process runs.
    ///
    /// # Errors
    /// [`Error`], if the file can't be read or is not a recording that this version
    /// understands. Damage is found where it makes the structure unreadable; a counter
    /// that was overwritten is not noticed.
    pub fn open(path: &Path) -> Result<ProcessFile, Error> {
        let source = Source::open(path)?;
        let header = source.header()?;
        let modules = source.region::<ModuleRecord>(&header.modules, "modules")?;
        let stacks = source.region::<StackRecord>(&header.stacks, "stacks")?;
        let records = source.region::<ThreadRecord>(&header.threads, "threads")?;
        let mut threads = Vec::new();
        let mut table_bytes = 0;
        for (index, record) in records.iter().enumerate() {
            if record.state == THREAD_NONE {
                continue;
            }
            table_bytes += source.table(record)?.map_or(0, |(_, rows)| rows * ROW_SIZE);
            if table_bytes > source.size {
                return Err(source.damaged("its tables overlap"));
            }
            threads.push(source.thread(&header, index as u32, *record)?);
        }
        Ok(ProcessFile { path: path.to_owned(), header, modules, threads, stacks })
    }

    /// The executable's path.
    pub fn executable(&self) -> String {
        text(&self.header.executable)
    }

    /// The program's arguments, its name among them.
    pub fn arguments(&self) -> Vec<String> {
        let bytes = &self.header.arguments;
        let used = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        bytes[..used].split(|&b| b == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect()
    }

    /// When the process ended, or was last seen if it could not say so, in ticks.
    pub fn ended(&self) -> u64 {
        if self.header.ended != 0 {
            return self.header.ended;
        }
        let last = |t: &Thread| t.record.ended.max(t.record.last_seen);
        self.threads.iter().map(last).max().unwrap_or(0).max(self.header.started)
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
pub(crate) fn text(bytes: &[u8]) -> String {
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

/// An open file and its size: every read is checked against it.
struct Source<'a> {
    path: &'a Path,
    file: File,
    size: u64,
}

impl Source<'_> {
    fn open(path: &Path) -> Result<Source<'_>, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        if !meta.is_file() {
            return Err(Error::Foreign(path.to_owned()));
        }
        Ok(Source { path, file, size: meta.len() })
    }

    fn damaged(&self, what: impl Into<String>) -> Error {
        Error::Damaged { path: self.path.to_owned(), what: what.into() }
    }

    fn header(&self) -> Result<Header, Error> {
        let mut header = Header::zeroed();
        let prefix = (self.size as usize).min(size_of::<Header>());
        self.read_at(&mut bytemuck::bytes_of_mut(&mut header)[..prefix], 0)?;
        if header.magic != MAGIC {
            return Err(Error::Foreign(self.path.to_owned()));
        }
        if header.byte_order != BYTE_ORDER {
            return Err(Error::ByteOrder(self.path.to_owned()));
        }
        if header.version != VERSION {
            return Err(Error::Version { path: self.path.to_owned(), found: header.version });
        }
        if self.size < HEADER_SIZE as u64 {
            return Err(self.damaged("it ends inside its first page"));
        }
        if header.ticks_per_second == 0 {
            return Err(self.damaged("its clock has no rate"));
        }
        Ok(header)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> Result<(), Error> {
        match self.file.read_exact_at(into, offset) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.damaged(format!("it ends before byte {}", offset + into.len() as u64)))
            }
            Err(source) => Err(Error::Io { path: self.path.to_owned(), source }),
        }
    }

    /// Reads `count` records, after checking that they lie within the file.
    fn records<T: Pod>(&self, offset: u64, count: usize, what: &str) -> Result<Vec<T>, Error> {
        let bytes = (count as u64).checked_mul(size_of::<T>() as u64);
        let end = bytes.and_then(|bytes| offset.checked_add(bytes));
        if end.is_none_or(|end| end > self.size) {
            return Err(self.damaged(format!("its {what} lie beyond its end")));
        }
        let mut records = vec![T::zeroed(); count];
        self.read_at(bytemuck::cast_slice_mut(&mut records), offset)?;
        Ok(records)
    }

    fn region<T: Pod>(&self, region: &Region, what: &str) -> Result<Vec<T>, Error> {
        if region.record_size as usize != size_of::<T>() {
            return Err(self.damaged(format!("its {what} have an unknown size")));
        }
        self.records(region.offset, region.count.min(region.capacity) as usize, what)
    }

    /// Where a unit of the arena is in the file.
    fn unit(&self, header: &Header, unit: u64) -> Result<u64, Error> {
        let bytes = unit.checked_mul(UNIT).and_then(|b| b.checked_add(header.arena_offset));
        bytes.ok_or_else(|| self.damaged("an offset is out of range"))
    }

    fn thread(&self, header: &Header, index: u32, first: ThreadRecord) -> Result<Thread, Error> {
        /// More than a thread can exchange its table for larger ones.
        const ATTEMPTS: u32 = 64;
        let mut record = first;
        for attempt in 1.. {
            let rows = self.rows(header, &record);
            let offset =
                header.threads.offset + u64::from(index) * size_of::<ThreadRecord>() as u64;
            let now = self.records::<ThreadRecord>(offset, 1, "threads")?[0];
            let same = (now.table, now.exchanges) == (record.table, record.exchanges);
            if same || attempt == ATTEMPTS {
                return Ok(Thread { index, record, rows: rows?, log: Vec::new() });
            }
            record = now;
        }
        unreachable!("the last attempt returns")
    }

    /// The first unit of a thread's table and its number of rows; none if it has no table.
    fn table(&self, record: &ThreadRecord) -> Result<Option<(u64, u64)>, Error> {
        let (unit, log2) = (record.table & 0xffff_ffff_ffff, record.table >> 48);
        match log2 {
            _ if record.table == 0 => Ok(None),
            0..=32 => Ok(Some((unit, 1 << log2))),
            _ => Err(self.damaged("a table has an impossible size")),
        }
    }

    fn rows(&self, header: &Header, record: &ThreadRecord) -> Result<Vec<Row>, Error> {
        let Some((unit, count)) = self.table(record)? else {
            return Ok(Vec::new());
        };
        let offset = self.unit(header, unit)?;
        let all = self.records::<layout::Row>(offset, count as usize, "rows")?;
        let mut rows = Vec::new();
        for counts in all.into_iter().filter(|row| row.key != 0) {
            let Some(op) = counts.op() else {
                return Err(self.damaged("a row has an unknown operation"));
            };
            let waits = match counts.wait {
                0 => None,
                unit => {
                    let offset = self.unit(header, u64::from(unit))?;
                    let records = self.records::<WaitRecord>(offset, 1, "waits")?;
                    Some(Box::new(records[0]))
                }
            };
            rows.push(Row { op, counts, waits, nest: None });
        }
        Ok(rows)
    }
}
