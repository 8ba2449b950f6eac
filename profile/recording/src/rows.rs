//! Reads threads, their rows and their logs from a file.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};

use crate::error::Error;
use crate::layout::{
    self, EventRecord, Header, NOTE, NestRecord, REST, ThreadRecord, UNIT, WaitRecord,
};
use crate::op::{Class, Op};
use crate::process::{Row, Thread};
use crate::source::Source;
use crate::windows::Windows;

const ROW_SIZE: u64 = size_of::<layout::Row>() as u64;
const EVENT_SIZE: u64 = size_of::<EventRecord>() as u64;

impl Source<'_> {
    /// The offset of a unit of the arena in the file.
    fn unit(&self, header: &Header, unit: u64) -> Result<u64, Error> {
        let bytes = unit.checked_mul(UNIT).and_then(|b| b.checked_add(header.arena_offset));
        bytes.ok_or_else(|| self.damaged("an offset is out of range"))
    }

    /// The number of bytes that a thread's two tables of rows and its log take.
    pub(crate) fn bytes_of(&self, record: &ThreadRecord) -> Result<u64, Error> {
        let mut bytes = self.run(record.log, "log")?.map_or(0, |(_, slots)| slots * EVENT_SIZE);
        for table in [record.table, record.places] {
            bytes += self.run(table, "table")?.map_or(0, |(_, rows)| rows * ROW_SIZE);
        }
        Ok(bytes)
    }

    /// A thread with its rows and, if wanted, its log.
    pub(crate) fn thread(
        &self,
        header: &Header,
        index: u32,
        first: ThreadRecord,
        with_log: bool,
    ) -> Result<Thread, Error> {
        /// Larger than the number of times that a thread can exchange its tables for larger ones.
        const ATTEMPTS: u32 = 64;
        let mut record = first;
        for attempt in 1.. {
            let rows = self.rows(header, &record);
            let log = if with_log { self.log(header, &record) } else { Ok(Vec::new()) };
            let offset =
                header.threads.offset + u64::from(index) * size_of::<ThreadRecord>() as u64;
            let now = self.records::<ThreadRecord>(offset, 1, "threads")?[0];
            if is_settled(&record, &now, with_log) || attempt == ATTEMPTS {
                let windows = Windows::from_word(record.log_windows)
                    .ok_or_else(|| self.damaged("a log has impossible windows"))?;
                let (rows, log) = (rows?, log?);
                if record.log_window != header.window {
                    // The thread has logged nothing since a command took the logs, so the log has
                    // no events of this window.
                    record.log_kept = 0;
                    let (log, windows) = (Vec::new(), Windows::ALL);
                    return Ok(Thread { index, record, rows, log, windows });
                }
                return Ok(Thread { index, record, rows, log, windows });
            }
            record = now;
        }
        unreachable!("the last attempt returns")
    }

    /// The first unit of the table or log to which this word of a thread's record leads, and the
    /// number of slots; `None` if there is none.
    fn run(&self, word: u64, what: &str) -> Result<Option<(u64, u64)>, Error> {
        let (unit, log2) = (word & 0xffff_ffff_ffff, word >> 48);
        match log2 {
            _ if word == 0 => Ok(None),
            0..=32 => Ok(Some((unit, 1 << log2))),
            _ => Err(self.damaged(format!("a {what} has an impossible size"))),
        }
    }

    /// A thread's events, without those that were not completely written.
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

    /// The rows of a thread's two tables that have counted something. What a row for many locks
    /// ([`REST`]) has counted since its last sample is added to the row of one of these locks.
    fn rows(&self, header: &Header, record: &ThreadRecord) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::new();
        let mut rests = HashMap::new();
        for word in [record.table, record.places] {
            let Some((unit, count)) = self.run(word, "table")? else { continue };
            let all =
                self.records::<layout::Row>(self.unit(header, unit)?, count as usize, "rows")?;
            for counts in all.into_iter().filter(|row| row.key != 0 && row.key as u8 != NOTE as u8)
            {
                let Some(op) = counts.op() else {
                    return Err(self.damaged("a row has an unknown operation"));
                };
                match counts.lock {
                    REST if op.class() != Class::Create => {
                        let waits = self.record::<WaitRecord>(header, counts.wait, "waits")?;
                        let rest: &mut Rest = rests.entry((counts.ret, op)).or_default();
                        rest.add(&counts, waits.as_deref());
                    }
                    _ if counts.calls == 0 && counts.wait == 0 => {}
                    _ => {
                        let waits = self.record::<WaitRecord>(header, counts.wait, "waits")?;
                        let nest = self.record::<NestRecord>(header, counts.nest, "nests")?;
                        rows.push(Row { op, counts, waits, nest, sampled: false });
                    }
                }
            }
        }
        share_out(&mut rows, &rests);
        Ok(rows)
    }

    /// The record at this unit of the arena; `None` if `unit` is 0.
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

/// Whether the tables and the log stayed where they were between two readings of a thread's record,
/// so that what was read from them in between is valid. (`log_thinned` is odd while events of the
/// log are being moved, and stays odd if the process is killed at that moment.)
fn is_settled(before: &ThreadRecord, now: &ThreadRecord, with_log: bool) -> bool {
    let place = |r: &ThreadRecord| (r.table, r.exchanges, r.log, r.log_thinned);
    place(before) == place(now) && !(with_log && now.log_thinned % 2 == 1)
}

/// What the rows for many locks of a call site have counted since their last samples.
#[derive(Default)]
struct Rest {
    calls: u64,
    refused: u64,
    spun_ticks: u64,
}

impl Rest {
    fn add(&mut self, counts: &layout::Row, waits: Option<&WaitRecord>) {
        let more = |sum: &mut u64, number| *sum = sum.saturating_add(number);
        more(&mut self.calls, counts.calls.saturating_sub(counts.held_ticks));
        if let Some(waits) = waits {
            more(&mut self.refused, waits.refused.saturating_sub(waits.refused_moved));
            more(&mut self.spun_ticks, waits.spun_ticks);
        }
    }
}

/// Distributes what is left in the rows for many locks. For each call site, `rests` has what is
/// left. It is added to the lock with the most calls and refused tries at the call site. So the sums
/// of the call site are exact. Each number is at most what was counted between two samples.
/// Also marks the rows of these call sites as sampled.
fn share_out(rows: &mut [Row], rests: &HashMap<(u64, Op), Rest>) {
    let mut largest: HashMap<(u64, Op), &mut Row> = HashMap::new();
    if rests.is_empty() {
        return;
    }
    let uses = |row: &Row| row.counts.calls.saturating_add(row.refused());
    for row in rows {
        let call = (row.counts.ret, row.op);
        row.sampled = rests.contains_key(&call);
        if row.sampled {
            match largest.get(&call) {
                Some(most) if uses(most) >= uses(row) => {}
                _ => _ = largest.insert(call, row),
            }
        }
    }
    for (call, row) in largest {
        let Rest { calls, refused, spun_ticks } = rests[&call];
        row.counts.calls = row.counts.calls.saturating_add(calls);
        if refused > 0 || spun_ticks > 0 {
            let waits = row.waits.get_or_insert_with(|| Box::new(WaitRecord::zeroed()));
            waits.refused = waits.refused.saturating_add(refused);
            waits.spun_ticks = waits.spun_ticks.saturating_add(spun_ticks);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    #[test]
    fn a_log_that_is_being_thinned_is_not_settled() {
        let before = ThreadRecord { log_thinned: 4, ..ThreadRecord::zeroed() };
        assert!(is_settled(&before, &before, true));
        let moving = ThreadRecord { log_thinned: 5, ..before };
        assert!(!is_settled(&before, &moving, true));
        assert!(!is_settled(&moving, &moving, true), "since before the first look");
        assert!(is_settled(&moving, &moving, false), "nobody reads the log");
        assert!(!is_settled(&before, &ThreadRecord { log_thinned: 6, ..before }, true));
    }
}
