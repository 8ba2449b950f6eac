//! Recordings made for the tests. A few lines say what threads did, and the bytes are those that a
//! recorder would have written. One tick is a nanosecond; recording starts at tick [`START`].

use std::fs;
use std::ops::Range;
use std::path::Path;

use bytemuck::{Zeroable, bytes_of};
use syncline_analysis::{Analysis, Options};
use syncline_recording::Op;
use syncline_recording::layout::*;
use tempfile::TempDir;

/// When recording starts, in ticks.
pub const START: u64 = 1_000_000_000;
/// Ticks in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Ticks in a microsecond.
pub const US: u64 = 1_000;
/// Ticks in a millisecond.
pub const MS: u64 = 1_000_000;

/// A recording of one process, which a test makes step by step.
pub struct Fixture {
    pub header: Header,
    pub modules: Vec<ModuleRecord>,
    pub threads: Vec<ThreadRecord>,
    pub stacks: Vec<StackRecord>,
    pub rows: Vec<Vec<(Row, Option<WaitRecord>)>>,
    pub logs: Vec<Vec<EventRecord>>,
}

impl Fixture {
    /// A process that ran for `seconds`.
    pub fn new(arguments: &[&str], seconds: u64) -> Fixture {
        let mut header = Header::zeroed();
        header.magic = MAGIC;
        header.version = VERSION;
        header.byte_order = BYTE_ORDER;
        header.clock = CLOCK_MONOTONIC;
        header.ticks_per_second = SECOND;
        header.started = START;
        header.ended = START + seconds * SECOND;
        header.state = PROCESS_EXITED;
        header.pid = 4711;
        copy_text(&mut header.executable, arguments[0]);
        copy_text(&mut header.arguments, &arguments.join("\0"));
        let stacks = vec![StackRecord::zeroed()];
        Fixture { header, modules: vec![], threads: vec![], stacks, rows: vec![], logs: vec![] }
    }

    /// Adds a file that was mapped at `addresses`.
    pub fn module(&mut self, path: &str, addresses: Range<u64>, bias: u64, build_id: &[u8]) {
        let mut module = ModuleRecord::zeroed();
        (module.start, module.end, module.bias) = (addresses.start, addresses.end, bias);
        module.build_id_len = build_id.len() as u32;
        module.build_id[..build_id.len()].copy_from_slice(build_id);
        copy_text(&mut module.path, path);
        self.modules.push(module);
    }

    /// Adds a call stack; returns its number.
    pub fn stack(&mut self, addresses: &[u64]) -> u32 {
        let mut stack = StackRecord::zeroed();
        stack.depth = addresses.len() as u8;
        stack.frames[..addresses.len()].copy_from_slice(addresses);
        self.stacks.push(stack);
        self.stacks.len() as u32 - 1
    }

    /// Adds a thread that lived during the ticks `lived`, counted from [`START`]. Returns its
    /// index.
    pub fn thread(&mut self, name: &str, lived: Range<u64>) -> usize {
        let mut thread = ThreadRecord::zeroed();
        let index = self.threads.len();
        thread.state = THREAD_EXITED;
        thread.tid = 4711 + index as u32;
        thread.lifetimes = 1;
        thread.creator = if index == 0 { u32::MAX } else { 0 };
        (thread.started, thread.ended) = (START + lived.start, START + lived.end);
        thread.last_seen = thread.ended;
        copy_text(&mut thread.name, name);
        self.threads.push(thread);
        self.rows.push(Vec::new());
        self.logs.push(Vec::new());
        index
    }

    /// Adds a row: `calls` calls of an operation by a thread, on a lock, at a stack.
    pub fn row(&mut self, thread: usize, op: Op, lock: u64, stack: u32, calls: u64) -> Entry<'_> {
        let mut row = Row::zeroed();
        (row.lock, row.stack, row.calls) = (lock, stack, calls);
        row.key = Row::key(op, 64);
        row.ret = self.stacks[stack as usize].frames[0];
        self.rows[thread].push((row, None));
        let (row, waits) = self.rows[thread].last_mut().expect("just pushed");
        Entry { row, waits }
    }

    /// Adds a wait ([`EVENT_WAIT`]) or a hold ([`EVENT_HOLD`]) of a thread, during ticks counted
    /// from [`START`]. Returns the event, which names no other thread yet.
    pub fn event(
        &mut self,
        thread: usize,
        kind: u8,
        (op, lock, stack): (Op, u64, u32),
        during: Range<u64>,
    ) -> &mut EventRecord {
        let mut event = EventRecord::zeroed();
        (event.began, event.ended) = (START + during.start, START + during.end);
        (event.lock, event.stack, event.who) = (lock, stack, NOBODY);
        (event.op, event.kind) = (op as u8, kind);
        self.logs[thread].push(event);
        self.logs[thread].last_mut().expect("just pushed")
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut header = self.header;
        let mut threads = self.threads.clone();
        let mut offset = HEADER_SIZE as u64;
        header.modules = region(&mut offset, header.modules, &self.modules);
        header.threads = region(&mut offset, header.threads, &self.threads);
        header.stacks = region(&mut offset, header.stacks, &self.stacks);
        header.arena_offset = offset.next_multiple_of(UNIT);
        let mut arena: Vec<u8> = vec![0; UNIT as usize]; // unit 0 stands for nothing
        for ((record, rows), log) in threads.iter_mut().zip(&self.rows).zip(&self.logs) {
            add_table(&mut arena, record, rows);
            add_log(&mut arena, record, log);
        }
        header.arena_used = arena.len() as u64 / UNIT;
        header.arena_capacity = header.arena_used;
        let mut bytes = bytes_of(&header).to_vec();
        bytes.resize(HEADER_SIZE, 0);
        bytes.extend_from_slice(bytemuck::cast_slice(&self.modules));
        bytes.extend_from_slice(bytemuck::cast_slice(&threads));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.stacks));
        bytes.resize(header.arena_offset as usize, 0);
        bytes.extend_from_slice(&arena);
        bytes
    }

    /// Writes the recording to a folder and analyses it.
    pub fn load(&self) -> Analysis {
        let folder = TempDir::new().expect("a folder for the test");
        self.write(&folder.path().join("4711.syncline"));
        Analysis::load(folder.path(), &Options::default()).expect("the fixture is well-formed")
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) {
        fs::write(path, self.bytes()).expect("the file can be written");
    }
}

/// A row to which a test adds waits and holds.
pub struct Entry<'a> {
    pub row: &'a mut Row,
    pub waits: &'a mut Option<WaitRecord>,
}

impl Entry<'_> {
    /// Adds waits of some of the calls; `lengths` has the ticks of each.
    pub fn waited(&mut self, lengths: &[u64]) -> &mut Self {
        let record = self.waits.get_or_insert_with(WaitRecord::zeroed);
        for &ticks in lengths {
            record.waits += 1;
            record.ticks += ticks;
            record.max = record.max.max(ticks);
            record.histogram[bucket(ticks)] += 1;
        }
        self
    }

    /// Sets how many holds after uncontended acquisitions were timed, and the sum of their ticks.
    pub fn held(&mut self, samples: u32, ticks: u64) -> &mut Self {
        (self.row.held_samples, self.row.held_ticks) = (samples, ticks);
        self.row.held_max = ticks / u64::from(samples.max(1));
        self
    }

    /// Sets how many holds after a wait were timed, and the sum of their ticks.
    pub fn held_after_waiting(&mut self, samples: u64, ticks: u64) -> &mut Self {
        let record = self.waits.get_or_insert_with(WaitRecord::zeroed);
        (record.held_samples, record.held_ticks) = (samples, ticks);
        self
    }

    /// Sets how many tries were refused.
    pub fn refused(&mut self, refused: u64) -> &mut Self {
        self.waits.get_or_insert_with(WaitRecord::zeroed).refused = refused;
        self
    }

    /// Sets how many waits timed out.
    pub fn timeouts(&mut self, timeouts: u64) -> &mut Self {
        self.waits.get_or_insert_with(WaitRecord::zeroed).timeouts = timeouts;
        self
    }

    /// Adds a holder, and the part of the waits that was for it.
    pub fn blocked_by(&mut self, stack: u32, thread: usize, waits: u64, ticks: u64) -> &mut Self {
        let record = self.waits.get_or_insert_with(WaitRecord::zeroed);
        let free = record.blockers.iter_mut().find(|b| b.stack == 0).expect("a free place");
        *free = Blocker { stack, thread: thread as u32, waits, ticks };
        self
    }
}

fn region<T>(offset: &mut u64, old: Region, records: &[T]) -> Region {
    let (count, record_size) = (records.len() as u32, size_of::<T>() as u32);
    let region = Region { offset: *offset, record_size, capacity: count, count, ..old };
    *offset += u64::from(count) * u64::from(record_size);
    region
}

/// Adds a table with its rows, followed by their waits.
fn add_table(arena: &mut Vec<u8>, record: &mut ThreadRecord, rows: &[(Row, Option<WaitRecord>)]) {
    if rows.is_empty() {
        return;
    }
    let places = rows.len().next_power_of_two();
    let unit = arena.len() as u64 / UNIT;
    record.table = unit | u64::from(places.trailing_zeros()) << 48;
    record.rows = rows.len() as u32;
    let mut next_wait = unit + places as u64;
    let mut waits = Vec::new();
    let start = arena.len();
    for (row, wait) in rows {
        let mut row = *row;
        if let Some(wait) = wait {
            row.wait = next_wait as u32;
            next_wait += size_of::<WaitRecord>() as u64 / UNIT;
            waits.extend_from_slice(bytes_of(wait));
        }
        arena.extend_from_slice(bytes_of(&row));
    }
    arena.resize(start + places * UNIT as usize, 0);
    arena.extend_from_slice(&waits);
}

/// Adds a log of events that is complete.
fn add_log(arena: &mut Vec<u8>, record: &mut ThreadRecord, log: &[EventRecord]) {
    if log.is_empty() {
        return;
    }
    // A unit has room for two events.
    let places = log.len().next_power_of_two().max(2);
    let unit = arena.len() as u64 / UNIT;
    record.log = unit | u64::from(places.trailing_zeros()) << 48;
    record.logged = log.len() as u64;
    record.log_kept = log.len() as u64;
    let end = arena.len() + places * size_of::<EventRecord>();
    arena.extend_from_slice(bytemuck::cast_slice(log));
    arena.resize(end, 0);
}

fn copy_text(into: &mut [u8], text: &str) {
    into[..text.len()].copy_from_slice(text.as_bytes());
}
