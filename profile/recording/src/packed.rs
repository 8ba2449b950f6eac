//! Writes a process that was read to a new, small file for the same reader.
//!
//! ```text
//! Header | modules | threads, each at its index | stacks | per thread: waits and nests, rows, log
//! ```
//!
//! Only rows that have counted something are in it, and an empty row for each call that took more
//! locks than get rows of their own. The process is the file's first, even if it was a forked child
//! in its parent's file.

use std::collections::BTreeSet;

use bytemuck::{Pod, Zeroable, bytes_of};

use crate::layout::{
    HEADER_SIZE, Header, ModuleRecord, PROCESS_LEFT, REST, Region, Row, StackRecord, ThreadRecord,
    UNIT,
};
use crate::process::{ProcessFile, Thread};

impl ProcessFile {
    /// If the process still ran when the file was read, notes that recording ended then and that
    /// the process went on. So a packed file is not taken for the file of a process that still
    /// runs.
    pub fn seal(&mut self) {
        if let Some(now) = self.now.take() {
            self.header.ended = now;
            self.header.state = PROCESS_LEFT;
        }
    }

    /// The bytes of a file with only this process.
    pub fn packed(&self) -> Vec<u8> {
        let mut next = HEADER_SIZE as u64;
        let threads = self.threads.iter().map(|thread| thread.index + 1).max().unwrap_or(0);
        let of = &self.header;
        let mut header = Header {
            modules: region::<ModuleRecord>(&mut next, self.modules.len() as u32, &of.modules),
            threads: region::<ThreadRecord>(&mut next, threads, &of.threads),
            stacks: region::<StackRecord>(&mut next, self.stacks.len() as u32, &of.stacks),
            arena_offset: next,
            newest: 0,
            before: 0,
            parent_page: 0,
            inherited: 0,
            own_threads: self.threads.len() as u32,
            latest_thread: 0,
            ..*of
        };
        let mut file = vec![0; next as usize];
        for (n, module) in self.modules.iter().enumerate() {
            put(&mut file, &header.modules, n, &ModuleRecord { process: 0, ..*module });
        }
        for (n, stack) in self.stacks.iter().enumerate() {
            put(&mut file, &header.stacks, n, stack);
        }
        // Unit 0 of the arena stays unused, because 0 stands for none.
        let mut arena = vec![0; UNIT as usize];
        for thread in &self.threads {
            let record = pack(thread, header.window, &mut arena);
            put(&mut file, &header.threads, thread.index as usize, &record);
        }
        header.arena_used = arena.len() as u64 / UNIT;
        header.arena_capacity = header.arena_used;
        file.extend(arena);
        header.file_size = file.len() as u64;
        file[..size_of::<Header>()].copy_from_slice(bytes_of(&header));
        file
    }
}

/// A region for this many records, with the number of dropped records of another.
fn region<T>(next: &mut u64, count: u32, of: &Region) -> Region {
    Region { count, dropped: of.dropped, ..Region::after::<T>(next, count) }
}

fn put<T: Pod>(file: &mut [u8], region: &Region, index: usize, record: &T) {
    let at = region.offset as usize + index * size_of::<T>();
    file[at..at + size_of::<T>()].copy_from_slice(bytes_of(record));
}

/// Adds a thread's data to the arena, and returns the record that leads to the data.
fn pack(thread: &Thread, window: u32, arena: &mut Vec<u8>) -> ThreadRecord {
    let mut rows = Vec::with_capacity(thread.rows.len());
    let mut sampled = BTreeSet::new();
    for row in &thread.rows {
        let mut counts = row.counts;
        counts.wait = row.waits.as_deref().map_or(0, |waits| add(arena, &[*waits], 1).0);
        counts.nest = row.nest.as_deref().map_or(0, |nest| add(arena, &[*nest], 1).0);
        rows.push(counts);
        if row.sampled && sampled.insert((counts.ret, row.op)) {
            // The place's sum over all locks: all of it is distributed already.
            rows.push(Row {
                lock: REST,
                ret: counts.ret,
                key: Row::key(row.op, 0),
                ..Row::zeroed()
            });
        }
    }
    let mut record = ThreadRecord {
        process: 0,
        previous: 0,
        table: run(arena, &rows),
        places: 0,
        log: run(arena, &thread.log),
        log_kept: thread.log.len() as u64,
        log_windows: thread.windows.word(),
        log_window: window,
        ..thread.record
    };
    let places = |record: &ThreadRecord| 1u64.checked_shl((record.log >> 48) as u32).unwrap_or(0);
    if thread.record.log != 0 && thread.record.log_kept > places(&thread.record) {
        // Keeps the fact that some events found no slot.
        record.log_kept = places(&record) + 1;
    }
    record
}

/// Adds records, padded to a power of two; returns the word that leads to them, or 0 if there are
/// none.
fn run<T: Pod>(arena: &mut Vec<u8>, records: &[T]) -> u64 {
    if records.is_empty() {
        return 0;
    }
    let (unit, places) = add(arena, records, records.len().next_power_of_two());
    u64::from(places.ilog2()) << 48 | u64::from(unit)
}

/// Adds records and space for `places` of them in all, at a new unit. Returns the unit and
/// `places`.
fn add<T: Pod>(arena: &mut Vec<u8>, records: &[T], places: usize) -> (u32, usize) {
    let unit = (arena.len() as u64 / UNIT) as u32;
    let end = arena.len() + places * size_of::<T>();
    arena.extend_from_slice(bytemuck::cast_slice(records));
    arena.resize(end.next_multiple_of(UNIT as usize), 0);
    (unit, places)
}
