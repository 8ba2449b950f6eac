//! Makes a new, small file of a process that was read. The same reader can read it.
//!
//! ```text
//! Header | modules | threads, each at its index | stacks | thread by thread: waits, nests, rows, log
//! ```
//!
//! The file has only rows that have counted something, and an empty row for each call site that
//! used too many locks to give each a row. The process becomes the file's first, even if it was a
//! forked child in its parent's file.

use std::collections::BTreeSet;

use bytemuck::{Pod, Zeroable, bytes_of};

use crate::layout::{
    HEADER_SIZE, Header, ModuleRecord, PROCESS_LEFT, REST, Region, Row, StackRecord, ThreadRecord,
    UNIT,
};
use crate::process::{ProcessFile, Thread};

impl ProcessFile {
    /// If the process still ran when its file was read, notes that recording ended at that time and
    /// that the process went on. Otherwise a packed file would be taken for the file of a running
    /// process.
    pub fn seal(&mut self) {
        if let Some(now) = self.now.take() {
            self.header.ended = now;
            self.header.state = PROCESS_LEFT;
        }
    }

    /// The content of a file that has only this process.
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
        // Unit 0 of the arena stays unused, because in records 0 means that there is no unit.
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

/// A region for this many records at `next`, with the number of dropped records of the region `of`.
fn region<T>(next: &mut u64, count: u32, of: &Region) -> Region {
    Region { count, dropped: of.dropped, ..Region::after::<T>(next, count) }
}

fn put<T: Pod>(file: &mut [u8], region: &Region, index: usize, record: &T) {
    let at = region.offset as usize + index * size_of::<T>();
    file[at..at + size_of::<T>()].copy_from_slice(bytes_of(record));
}

/// Adds the data of a thread to the arena, and returns the record that leads to it. `window` is the
/// number of the header's window.
fn pack(thread: &Thread, window: u32, arena: &mut Vec<u8>) -> ThreadRecord {
    let mut rows = Vec::with_capacity(thread.rows.len());
    let mut sampled = BTreeSet::new();
    for row in &thread.rows {
        let mut counts = row.counts;
        counts.wait = row.waits.as_deref().map_or(0, |waits| add(arena, &[*waits], 1).0);
        counts.nest = row.nest.as_deref().map_or(0, |nest| add(arena, &[*nest], 1).0);
        rows.push(counts);
        if row.sampled && sampled.insert((counts.ret, row.op)) {
            // The row for all locks of this call site. It is empty because its counts have been
            // distributed to the locks.
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
        // A number above that of the slots says that some events found no slot.
        record.log_kept = places(&record) + 1;
    }
    record
}

/// Adds records to the arena, padded to a power of two. Returns the word of a thread's record that
/// leads to them, or 0 if there are none.
fn run<T: Pod>(arena: &mut Vec<u8>, records: &[T]) -> u64 {
    if records.is_empty() {
        return 0;
    }
    let (unit, places) = add(arena, records, records.len().next_power_of_two());
    u64::from(places.ilog2()) << 48 | u64::from(unit)
}

/// Adds records to the arena at a new unit, with space for `places` of them in all. Returns the
/// unit and `places`.
fn add<T: Pod>(arena: &mut Vec<u8>, records: &[T], places: usize) -> (u32, usize) {
    let unit = (arena.len() as u64 / UNIT) as u32;
    let end = arena.len() + places * size_of::<T>();
    arena.extend_from_slice(bytemuck::cast_slice(records));
    arena.resize(end.next_multiple_of(UNIT as usize), 0);
    (unit, places)
}
