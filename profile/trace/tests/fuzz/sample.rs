//! Makes a small trace with sections, counts and records of an unknown kind. It has three chunks.
//! The second was claimed but never used, and the last is cut off after its records.

use bytemuck::{Pod, Zeroable, bytes_of};
use syncline_recording::Op;
use syncline_recording::layout::{BYTE_ORDER, ModuleRecord, Region};
use syncline_trace::layout::{
    CHUNK, CHUNK_MAGIC, ChunkHeader, CountRecord, HEADER_SIZE, Header, MAGIC, NONE, ObjectRecord,
    RECORD_COUNT, RECORD_SECTION, RecordHeader, SectionRecord, StepRecord, SystemCallRecord,
    ThreadRecord, VERSION, WAITED, WordRecord,
};
use syncline_trace::packed::{Contents, Writing};

/// The number of threads of the sample.
pub const THREADS: usize = 2;
/// The number of sections of each thread. Two successive sections have the same form.
pub const SECTIONS: usize = 6;

const CAPACITY: usize = 4;
const MODULES_AT: usize = HEADER_SIZE;
const THREADS_AT: usize = MODULES_AT + CAPACITY * size_of::<ModuleRecord>();
const ARENA_AT: usize = THREADS_AT + CAPACITY * size_of::<ThreadRecord>();

/// The file.
pub fn sample() -> Vec<u8> {
    let mut file = vec![0; ARENA_AT + 2 * CHUNK as usize];
    put(&mut file, 0, &header());
    put(&mut file, MODULES_AT, &module());
    for index in 0..THREADS {
        put(&mut file, THREADS_AT + index * size_of::<ThreadRecord>(), &thread(index));
    }
    let first = chunk(0);
    file[ARENA_AT..ARENA_AT + first.len()].copy_from_slice(&first);
    file.extend(chunk(1));
    file
}

/// The offset of the last chunk. A file that ends before it has lost records.
pub fn last_chunk() -> usize {
    ARENA_AT + 2 * CHUNK as usize
}

/// The offsets of the words on which the reader relies.
pub fn structure() -> Vec<usize> {
    let header = (0..208).step_by(4);
    let threads = (THREADS_AT..ARENA_AT).step_by(8);
    let chunk = chunk(0).len();
    let first = (ARENA_AT..ARENA_AT + chunk).step_by(4);
    let second = (ARENA_AT + CHUNK as usize..).step_by(4).take(6);
    let last = (last_chunk()..last_chunk() + chunk).step_by(4);
    header.chain(threads).chain(first).chain(second).chain(last).collect()
}

/// The words of the address set of the section with this number.
pub fn words(number: usize) -> Vec<WordRecord> {
    let word = |n: u64| WordRecord {
        address: 0x5000 + 8 * (n + number as u64),
        reader: 0x1010,
        writer: if n == 0 { 0x1014 } else { 0 },
        object: if n == 0 { 0 } else { NONE },
        read: 0xff,
        written: if n == 0 { 0x0f } else { 0 },
        flags: 0,
    };
    (0..number as u64 / 2).map(word).collect()
}

fn chunk(thread: u32) -> Vec<u8> {
    let mut records = Vec::new();
    let mut writing = Writing::new();
    for number in 0..SECTIONS {
        section(&mut records, &mut writing, number);
    }
    let count = CountRecord {
        lock: 0x7000,
        site: 0x1000,
        acquisitions: 100,
        contended: 10,
        traced: SECTIONS as u64,
        op: Op::MutexLock as u32,
        ..CountRecord::zeroed()
    };
    append(&mut records, RECORD_COUNT, bytes_of(&count));
    append(&mut records, 77, &[1; 16]); // of an unknown kind
    let used = (size_of::<ChunkHeader>() + records.len()) as u64;
    let header = ChunkHeader { magic: CHUNK_MAGIC, thread, size: CHUNK, used };
    [bytes_of(&header), &records].concat()
}

fn append(records: &mut Vec<u8>, kind: u32, bytes: &[u8]) {
    let length = (size_of::<RecordHeader>() + bytes.len()) as u32;
    records.extend(bytes_of(&RecordHeader { kind, length }));
    records.extend(bytes);
}

/// Appends the section with this number, written relative to those before it.
fn section(records: &mut Vec<u8>, writing: &mut Writing, number: usize) {
    let words = words(number);
    let record = SectionRecord {
        lock: 0x7000,
        site: 0x1000,
        acquired: 2000,
        released: 3000,
        order: number as u64,
        holder: NONE,
        flags: WAITED,
        op: Op::MutexLock as u32,
        instructions: 20,
        memory_instructions: 5,
        ..SectionRecord::zeroed()
    };
    let object = ObjectRecord { start: 0x5000, size: 24, site: 0x1800, serial: 1 };
    let step = StepRecord { address: 0x1010, low: 0x5000, high: 0x5007, times: 20, accesses: 5 };
    let call = SystemCallRecord { number: 1, times: 1 };
    let contents =
        Contents { objects: &[object], words: &words, steps: &[step], system_calls: &[call] };
    let start = records.len();
    let at = start + size_of::<RecordHeader>();
    records.resize(at + 4096, 0);
    let length = writing.write(records, at, &record, &contents).expect("room");
    records.truncate((at + length).next_multiple_of(8));
    records[at + length..].fill(0);
    let length = (records.len() - start) as u32;
    let header = RecordHeader { kind: RECORD_SECTION, length };
    records[start..at].copy_from_slice(bytes_of(&header));
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
        clock: 1,
        ticks_per_second: 2_500_000_000,
        started: 1000,
        pid: 42,
        modules: region::<ModuleRecord>(MODULES_AT, 1),
        threads: region::<ThreadRecord>(THREADS_AT, THREADS),
        arena_offset: ARENA_AT as u64,
        arena_used: 3 * CHUNK,
        arena_capacity: 16 * CHUNK,
        ..Header::zeroed()
    };
    text(&mut header.executable, "/usr/bin/sample");
    text(&mut header.arguments, "sample\0--fast");
    header
}

fn module() -> ModuleRecord {
    let mut module =
        ModuleRecord { start: 0x1000, end: 0x2000, bias: 0x1000, ..ModuleRecord::zeroed() };
    text(&mut module.path, "/usr/bin/sample");
    module
}

fn thread(index: usize) -> ThreadRecord {
    let mut thread = ThreadRecord {
        tid: 42 + index as u32,
        stack_low: 0x9000,
        stack_high: 0xa000,
        started: 1000,
        ended: 8000,
        ..ThreadRecord::zeroed()
    };
    text(&mut thread.name, &format!("worker {index}"));
    thread
}
