//! Makes a small file of a recording that has something in every part.

use bytemuck::{Pod, Zeroable, bytes_of};
use syncline_recording::Op;
use syncline_recording::layout::{
    BYTE_ORDER, Blocker, CLOCK_TSC, EVENT_WAIT, EventRecord, HEADER_SIZE, Header, MAGIC,
    ModuleRecord, Nest, NestRecord, PROCESS_EXITED, PROCESS_RUNNING, Region, Row, StackRecord,
    THREAD_EXITED, ThreadRecord, UNIT, VERSION, WaitRecord,
};

/// The number of threads of the sample.
pub const THREADS: usize = 3;
/// The number of rows of each thread.
pub const ROWS: usize = 5;

const MODULES: usize = 2;
const STACKS: usize = 4;
const CAPACITY: usize = 8;
const TABLE_LOG2: u64 = 3;
/// Log 2 of the number of slots in a log. The logs are full, and further events found no slot.
const LOG_LOG2: u64 = 2;
/// The number of events of each thread.
const LOGGED: u64 = 7;
/// The events that found a slot.
pub const KEPT: std::ops::Range<u64> = 0..4;

const MODULES_AT: usize = HEADER_SIZE;
const THREADS_AT: usize = MODULES_AT + CAPACITY * size_of::<ModuleRecord>();
const STACKS_AT: usize = THREADS_AT + CAPACITY * size_of::<ThreadRecord>();
const ARENA_AT: usize = STACKS_AT + CAPACITY * size_of::<StackRecord>();

// The arena's first unit is unused. Then come, for each thread, its table, one wait record, one
// nest record and its log.

const WAIT_UNITS: usize = size_of::<WaitRecord>() / UNIT as usize;
const LOG_UNITS: usize = (size_of::<EventRecord>() << LOG_LOG2) / UNIT as usize;
const UNITS_OF_THREAD: usize = (1 << TABLE_LOG2) + WAIT_UNITS + 1 + LOG_UNITS;
const SIZE: usize = ARENA_AT + (1 + THREADS * UNITS_OF_THREAD) * UNIT as usize;

/// The sum of the calls in all rows of a thread.
pub fn calls(thread: usize) -> u64 {
    (0..ROWS).map(|row| calls_of(thread, row)).sum()
}

fn calls_of(thread: usize, row: usize) -> u64 {
    100 * thread as u64 + row as u64 + 1
}

/// The bytes of the sample file.
pub fn sample() -> Vec<u8> {
    let mut file = vec![0; SIZE];
    put(&mut file, 0, &header());
    for index in 0..MODULES {
        put(&mut file, MODULES_AT + index * size_of::<ModuleRecord>(), &module(index as u64));
    }
    for index in 1..STACKS {
        put(&mut file, STACKS_AT + index * size_of::<StackRecord>(), &stack(index as u64));
    }
    for index in 0..THREADS {
        let table = 1 + index * UNITS_OF_THREAD;
        let waits = table + (1 << TABLE_LOG2);
        let (nest, log) = (waits + WAIT_UNITS, waits + WAIT_UNITS + 1);
        let at = THREADS_AT + index * size_of::<ThreadRecord>();
        put(&mut file, at, &thread(index, table as u64, log as u64));
        for row in 0..ROWS {
            // The first rows have an empty slot between them.
            let place = (2 * row) % (1 << TABLE_LOG2) + row / 4;
            let wait = if row == 1 { waits as u32 } else { 0 };
            let nest = if row == 2 { nest as u32 } else { 0 };
            put(&mut file, unit(table + place), &one_row(index, row, wait, nest));
        }
        put(&mut file, unit(waits), &wait_record());
        put(&mut file, unit(nest), &nest_record());
        for number in KEPT {
            let place = number as usize * size_of::<EventRecord>();
            put(&mut file, unit(log) + place, &event(number));
        }
    }
    file
}

/// The number of the first page after the sample.
const CHILD: usize = SIZE.div_ceil(HEADER_SIZE);
/// The page of the child's header in [`family`], and that of the child's child.
pub const PAGES: [u32; 2] = [CHILD as u32, CHILD as u32 + 1];

/// The file of a process, its forked child, and the child's own child. The child knows one of its
/// parent's two modules, has found a third one, and has two threads. The grandchild knows only the
/// module that the child has from its parent, and has one thread.
pub fn family() -> Vec<u8> {
    let mut file = sample();
    file.resize((CHILD + 2) * HEADER_SIZE, 0);
    let [child, grandchild] = PAGES;
    let mut first = header();
    (first.newest, first.threads.count, first.modules.count) = (grandchild, 6, 3);
    put(&mut file, 0, &first);
    let own = |pid, before, parent_page, inherited, latest_thread| {
        let (ended, state) = (0, PROCESS_RUNNING);
        Header { pid, before, parent_page, inherited, latest_thread, ended, state, ..header() }
    };
    put(&mut file, CHILD * HEADER_SIZE, &own(43, 0, 0, 1, 5));
    put(&mut file, (CHILD + 1) * HEADER_SIZE, &own(44, child, child, 2, 6));
    put(
        &mut file,
        MODULES_AT + 2 * size_of::<ModuleRecord>(),
        &ModuleRecord { process: child, ..module(2) },
    );
    for (index, process, previous) in [(3, child, 0), (4, child, 4), (5, grandchild, 0)] {
        let record = ThreadRecord { process, previous, ..thread(index, 1, 0) };
        let record = ThreadRecord { log: 0, logged: 0, log_kept: 0, ..record };
        put(&mut file, THREADS_AT + index * size_of::<ThreadRecord>(), &record);
    }
    file
}

/// The offsets of those words on which the reader of a child relies: in the first header, in the
/// child's header, and in the records of the children's threads.
pub fn structure_of_child() -> impl Iterator<Item = usize> {
    let header = CHILD * HEADER_SIZE..CHILD * HEADER_SIZE + 320;
    let threads = THREADS_AT + 3 * size_of::<ThreadRecord>();
    let threads = threads..threads + 3 * size_of::<ThreadRecord>();
    (0..320).chain(header).chain(threads).step_by(4)
}

/// The offsets of the words on which the reader relies: the start of the header, the threads, and
/// every second word of the arena.
pub fn structure() -> impl Iterator<Item = usize> {
    let threads = THREADS * size_of::<ThreadRecord>();
    let header = (0..272).step_by(4);
    let threads = (THREADS_AT..THREADS_AT + threads).step_by(4);
    let arena = (ARENA_AT..SIZE).step_by(8);
    header.chain(threads).chain(arena)
}

/// The sample with as many threads as fit, all of which have the same log. The log lies within the
/// file, but such logs for all threads would be larger than the file.
pub fn one_log_for_all() -> Vec<u8> {
    with_many_threads(|record| record.log = 6 << 48 | 1)
}

/// The sample with as many threads as fit, all of which have the same empty table of places. The
/// table lies after everything else.
pub fn one_table_for_all() -> Vec<u8> {
    let behind = (SIZE - ARENA_AT) as u64 / UNIT;
    let mut file = with_many_threads(|record| record.places = 6 << 48 | behind);
    file.resize(SIZE + (size_of::<Row>() << 6), 0);
    file
}

/// The sample with as many threads as it has room for. `share` gives each of them the same table or
/// log; they have no others.
fn with_many_threads(share: impl Fn(&mut ThreadRecord)) -> Vec<u8> {
    let mut file = sample();
    let mut header = header();
    header.threads.count = CAPACITY as u32;
    put(&mut file, 0, &header);
    for index in 0..CAPACITY {
        let mut record = ThreadRecord { table: 0, log: 0, ..thread(index, 0, 0) };
        share(&mut record);
        put(&mut file, THREADS_AT + index * size_of::<ThreadRecord>(), &record);
    }
    file
}

/// The sample with the third event of the first thread's log unfinished.
pub fn unfinished() -> Vec<u8> {
    let mut file = sample();
    let log = unit(1 + UNITS_OF_THREAD - LOG_UNITS);
    put(&mut file, log + 2 * size_of::<EventRecord>(), &EventRecord { kind: 0, ..event(2) });
    file
}

/// The sample with impossible windows for the first thread's log: each would be longer than the
/// time from its beginning to that of the next.
pub fn impossible_windows() -> Vec<u8> {
    let mut file = sample();
    let at = THREADS_AT + std::mem::offset_of!(ThreadRecord, log_windows);
    put(&mut file, at, &1u64);
    file
}

fn unit(number: usize) -> usize {
    ARENA_AT + number * UNIT as usize
}

fn put<T: Pod>(file: &mut [u8], at: usize, record: &T) {
    file[at..at + size_of::<T>()].copy_from_slice(bytes_of(record));
}

fn text(field: &mut [u8], text: &str) {
    field[..text.len()].copy_from_slice(text.as_bytes());
}

fn region<T>(offset: usize, count: usize) -> Region {
    Region {
        offset: offset as u64,
        record_size: size_of::<T>() as u32,
        capacity: CAPACITY as u32,
        count: count as u32,
        dropped: 0,
    }
}

fn header() -> Header {
    let mut header = Header {
        magic: MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER,
        machine: 62,
        clock: CLOCK_TSC,
        ticks_per_second: 2_500_000_000,
        started: 1000,
        ended: 9000,
        state: PROCESS_EXITED,
        pid: 42,
        parent: 1,
        sample_period: 64,
        file_size: SIZE as u64,
        modules: region::<ModuleRecord>(MODULES_AT, MODULES),
        threads: region::<ThreadRecord>(THREADS_AT, THREADS),
        stacks: region::<StackRecord>(STACKS_AT, STACKS),
        arena_offset: ARENA_AT as u64,
        arena_used: (1 + THREADS * UNITS_OF_THREAD) as u64,
        arena_capacity: (1 + THREADS * UNITS_OF_THREAD) as u64,
        ..Header::zeroed()
    };
    text(&mut header.executable, "/usr/bin/sample");
    text(&mut header.arguments, "sample\0--fast");
    header
}

fn module(index: u64) -> ModuleRecord {
    let start = (index + 1) * 0x1000;
    let mut module = ModuleRecord {
        start,
        end: start + 0x1000,
        bias: start,
        build_id_len: 20,
        ..ModuleRecord::zeroed()
    };
    text(&mut module.path, "/usr/lib/sample.so");
    module
}

fn stack(index: u64) -> StackRecord {
    let mut stack = StackRecord { hash: 7, depth: 3, ..StackRecord::zeroed() };
    for frame in 0..3 {
        stack.frames[frame] = index * 0x1000 + (frame as u64 + 1) * 16;
    }
    stack
}

fn thread(index: usize, table: u64, log: u64) -> ThreadRecord {
    let mut thread = ThreadRecord {
        state: THREAD_EXITED,
        tid: 42 + index as u32,
        lifetimes: 1,
        creator: 0,
        started: 1000,
        ended: 8000,
        last_seen: 8000,
        table: TABLE_LOG2 << 48 | table,
        rows: ROWS as u32,
        log: LOG_LOG2 << 48 | log,
        logged: LOGGED,
        log_kept: LOGGED,
        ..ThreadRecord::zeroed()
    };
    text(&mut thread.name, &format!("worker {index}"));
    thread
}

fn one_row(thread: usize, row: usize, wait: u32, nest: u32) -> Row {
    Row {
        lock: 0x7000 + 64 * row as u64,
        ret: 0x1010,
        key: Row::key(Op::ALL[row], 128),
        calls: calls_of(thread, row),
        held_ticks: 1000,
        held_max: 100,
        held_samples: 10,
        stack: 1 + row as u32 % 3,
        wait,
        nest,
    }
}

fn wait_record() -> WaitRecord {
    let mut waits = WaitRecord { waits: 5, ticks: 5000, max: 2000, ..WaitRecord::zeroed() };
    waits.histogram[4] = 5;
    waits.blockers[0] = Blocker { stack: 2, thread: 1, waits: 5, ticks: 5000 };
    waits
}

fn nest_record() -> NestRecord {
    let mut nest = NestRecord { alone: 3, others: 1, ..NestRecord::zeroed() };
    nest.locks[0] = Nest { lock: 0x2000, stack: 1, seen: 6 };
    nest
}

fn event(ended: u64) -> EventRecord {
    EventRecord {
        began: 0,
        ended,
        lock: 0x2000,
        stack: 1,
        who: 0,
        op: Op::MutexLock as u8,
        kind: EVENT_WAIT,
    }
}
