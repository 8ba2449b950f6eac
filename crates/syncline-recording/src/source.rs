//! A process's file as bytes: what is read from it is checked against its size first.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytemuck::{Pod, Zeroable};

use crate::layout::{
    self, BYTE_ORDER, EventRecord, HEADER_SIZE, Header, MAGIC, NestRecord, Region, ThreadRecord,
    UNIT, VERSION, WaitRecord,
};
use crate::reader::{Error, Row, Thread};
use crate::windows::Windows;

const ROW_SIZE: u64 = size_of::<layout::Row>() as u64;
const EVENT_SIZE: u64 = size_of::<EventRecord>() as u64;

/// An open file and its size: every read is checked against it.
pub struct Source<'a> {
    path: &'a Path,
    file: File,
    size: u64,
}

impl Source<'_> {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Source<'_>, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let meta = file.metadata().map_err(io)?;
        if !meta.is_file() {
            return Err(Error::Foreign(path.to_owned()));
        }
        Ok(Source { path, file, size: meta.len() })
    }

    /// The file's size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The error that the file is damaged.
    pub fn damaged(&self, what: impl Into<String>) -> Error {
        Error::Damaged { path: self.path.to_owned(), what: what.into() }
    }

    /// The first page, if it is that of a recording.
    pub fn header(&self) -> Result<Header, Error> {
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

    /// The records in use of a region.
    pub fn region<T: Pod>(&self, region: &Region, what: &str) -> Result<Vec<T>, Error> {
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

    /// The bytes that a thread's table and log take.
    pub fn bytes_of(&self, record: &ThreadRecord) -> Result<u64, Error> {
        let table = self.run(record.table, "table")?.map_or(0, |(_, rows)| rows * ROW_SIZE);
        let log = self.run(record.log, "log")?.map_or(0, |(_, places)| places * EVENT_SIZE);
        Ok(table + log)
    }

    /// A thread with its rows and, if wanted, its log.
    pub fn thread(
        &self,
        header: &Header,
        index: u32,
        first: ThreadRecord,
        with_log: bool,
    ) -> Result<Thread, Error> {
        /// More than a thread can exchange its table for larger ones.
        const ATTEMPTS: u32 = 64;
        let mut record = first;
        for attempt in 1.. {
            let rows = self.rows(header, &record);
            let log = if with_log { self.log(header, &record) } else { Ok(Vec::new()) };
            let offset =
                header.threads.offset + u64::from(index) * size_of::<ThreadRecord>() as u64;
            let now = self.records::<ThreadRecord>(offset, 1, "threads")?[0];
            let place = |r: &ThreadRecord| (r.table, r.exchanges, r.log, r.log_thinned);
            if place(&now) == place(&record) || attempt == ATTEMPTS {
                let windows = Windows::from_word(record.log_windows)
                    .ok_or_else(|| self.damaged("a log has impossible windows"))?;
                return Ok(Thread { index, record, rows: rows?, log: log?, windows });
            }
            record = now;
        }
        unreachable!("the last attempt returns")
    }

    /// The first unit of a thread's table or log and its number of places; none if there is
    /// none.
    fn run(&self, word: u64, what: &str) -> Result<Option<(u64, u64)>, Error> {
        let (unit, log2) = (word & 0xffff_ffff_ffff, word >> 48);
        match log2 {
            _ if word == 0 => Ok(None),
            0..=32 => Ok(Some((unit, 1 << log2))),
            _ => Err(self.damaged(format!("a {what} has an impossible size"))),
        }
    }

    /// A thread's events, without those whose writer was stopped in the middle of them.
    fn log(&self, header: &Header, record: &ThreadRecord) -> Result<Vec<EventRecord>, Error> {
        let Some((unit, places)) = self.run(record.log, "log")? else {
            return Ok(Vec::new());
        };
        let kept = record.log_kept.min(places);
        let mut log: Vec<EventRecord> =
            self.records(self.unit(header, unit)?, kept as usize, "events")?;
        log.retain(|event| event.kind != 0);
        Ok(log)
    }

    fn rows(&self, header: &Header, record: &ThreadRecord) -> Result<Vec<Row>, Error> {
        let Some((unit, count)) = self.run(record.table, "table")? else {
            return Ok(Vec::new());
        };
        let offset = self.unit(header, unit)?;
        let all = self.records::<layout::Row>(offset, count as usize, "rows")?;
        let mut rows = Vec::new();
        for counts in all.into_iter().filter(|row| row.key != 0) {
            let Some(op) = counts.op() else {
                return Err(self.damaged("a row has an unknown operation"));
            };
            let waits = self.record::<WaitRecord>(header, counts.wait, "waits")?;
            let nest = self.record::<NestRecord>(header, counts.nest, "nests")?;
            rows.push(Row { op, counts, waits, nest });
        }
        Ok(rows)
    }

    /// The record at a unit of the arena; none at unit 0.
    fn record<T: Pod>(
        &self,
        header: &Header,
        unit: u32,
        what: &str,
    ) -> Result<Option<Box<T>>, Error> {
        if unit == 0 {
            return Ok(None);
        }
        let records = self.records::<T>(self.unit(header, u64::from(unit))?, 1, what)?;
        Ok(Some(Box::new(records[0])))
    }
}
