//! Threads, their rows and their logs, as they lie in a process's file.

use bytemuck::Pod;

use crate::layout::{self, EventRecord, Header, NestRecord, ThreadRecord, UNIT, WaitRecord};
use crate::reader::{Error, Row, Thread};
use crate::source::Source;
use crate::windows::Windows;

const ROW_SIZE: u64 = size_of::<layout::Row>() as u64;
const EVENT_SIZE: u64 = size_of::<EventRecord>() as u64;

impl Source<'_> {
    /// Where a unit of the arena is in the file.
    fn unit(&self, header: &Header, unit: u64) -> Result<u64, Error> {
        let bytes = unit.checked_mul(UNIT).and_then(|b| b.checked_add(header.arena_offset));
        bytes.ok_or_else(|| self.damaged("an offset is out of range"))
    }

    /// The bytes that a thread's table and log take.
    pub(crate) fn bytes_of(&self, record: &ThreadRecord) -> Result<u64, Error> {
        let table = self.run(record.table, "table")?.map_or(0, |(_, rows)| rows * ROW_SIZE);
        let log = self.run(record.log, "log")?.map_or(0, |(_, places)| places * EVENT_SIZE);
        Ok(table + log)
    }

    /// A thread with its rows and, if wanted, its log.
    pub(crate) fn thread(
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
