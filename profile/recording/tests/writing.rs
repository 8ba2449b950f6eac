//! Tests that the reader finds what the writer has written: from several threads, with tables and
//! logs that grow, and as a forked child would write.

use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::null_mut;
use std::thread;

use bytemuck::Zeroable;
use syncline_recording::layout::{
    CLOCK_MONOTONIC, EVENT_WAIT, EventRecord, Header, ModuleRecord, NOBODY, Region, Row,
    ThreadRecord, WaitRecord,
};
use syncline_recording::writer::{
    Child, File, Folder, LOCKS, Log, Room, Shelf, Stack, Start, Table, Tail, ThreadStart, add,
    end_thread, hash_of_lock,
};
use syncline_recording::{Op, ProcessFile, process_files, processes};

/// An address that lies on no thread's stack.
const CALLER: *const usize = null_mut();

fn create(folder: &Path) -> File {
    let start = Start {
        folder: &Folder::new(folder.as_os_str().as_bytes()).expect("a short path"),
        file: None,
        max_size: 64 << 20,
        clock: CLOCK_MONOTONIC,
        ticks_per_second: 1_000_000_000,
        started: 10,
        started_realtime: 20,
        sample_period: 128,
        timeline: false,
        attached: false,
    };
    File::create(&start).expect("a file")
}

/// A thread that counts, in one row for each of its locks.
struct Writer<'a> {
    room: Room<'a>,
    record: *mut ThreadRecord,
    rows: Table,
    log: Log,
    tail: Tail,
}

impl Writer<'_> {
    fn begin(room: Room<'_>, tid: u32) -> Writer<'_> {
        let file = room.file;
        let mut name = [0; 24];
        name[..6].copy_from_slice(b"worker");
        let start = ThreadStart {
            function: 0x4000,
            creator: u32::MAX,
            created_at: 0,
            tid,
            started: 11,
            name,
            before: None,
        };
        let (record, index) = file.claim_thread(start.function).expect("room");
        // SAFETY: all zero bytes are an empty table, log and tail.
        let (rows, log, tail) = unsafe { std::mem::zeroed() };
        let writer = Writer { room, record, rows, log, tail };
        // SAFETY: the record was claimed for this thread, and all else is its own.
        unsafe {
            file.begin_thread(record, index, &start);
            writer.log.take_over(file, record);
            writer.rows.take_over(&LOCKS, Some(room), (*record).table);
        }
        writer
    }

    /// Counts this many calls of a lock, all of which waited.
    fn count(&self, lock: u64, calls: u64, stack: u32) {
        let (ret, key) = (0x1000, Row::key(Op::MutexLock, 64));
        let hash = hash_of_lock(lock as usize, ret as usize, key);
        // SAFETY: all of it is this thread's own.
        unsafe {
            let known = self.rows.find(hash, |row| row.lock == lock);
            let row = known.unwrap_or_else(|| {
                let row = Row { lock, ret, key, stack, ..Row::zeroed() };
                self.rows.put(&LOCKS, self.room, self.record, row, |_| {}).expect("room")
            });
            add(&raw mut (*row).calls, calls);
            if (*row).wait == 0 {
                (*row).wait = self.tail.next::<WaitRecord>(self.room.file).expect("room");
            }
            let waits = self.room.file.unit((*row).wait.into()).cast::<WaitRecord>();
            (*waits).waits += calls;
        }
        self.log_wait(lock, 100 * lock, stack);
    }

    fn log_wait(&self, lock: u64, began: u64, stack: u32) {
        let event = EventRecord {
            began,
            ended: began + 50,
            lock,
            stack,
            who: NOBODY,
            op: Op::MutexLock as u8,
            kind: EVENT_WAIT,
        };
        // SAFETY: the log and the record are this thread's own.
        unsafe { self.log.add(self.record, event, || Some(self.room)) };
    }

    fn end(self) {
        self.rows.leave(&LOCKS, Some(self.room));
        // SAFETY: the record is this thread's own, and is not used afterwards.
        unsafe {
            (*self.record).ended = 999;
            end_thread(self.record);
        }
    }
}

/// Stores a stack. Its first return address is the first word of `memory`, and the others are the
/// words at the indices `slots`. The thread's stack ends where `memory` ends.
fn stack_in(file: &File, memory: &[usize], slots: &[u32]) -> u32 {
    let at = |&slot: &u32| memory[slot as usize] as u64;
    let frames: Vec<u64> = [0].iter().chain(slots).map(at).collect();
    let stack = Stack { frames: &frames, slots: Some(slots), cut: false, broken: false };
    let within = memory.as_ptr_range();
    file.add_stack(&stack, memory.as_ptr(), memory[0], within.start.addr()..within.end.addr())
}

/// Whether `stack` is the stack of a call whose return address is the first word of `memory`.
fn is_stack_in(file: &File, stack: u32, memory: &[usize]) -> bool {
    let within = memory.as_ptr_range();
    // SAFETY: the memory is there.
    unsafe { file.is_stack_of(stack, memory.as_ptr(), within.start.addr()..within.end.addr()) }
}

#[test]
fn a_stack_is_recognised_by_its_return_addresses() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let memory = [0x1000, 7, 0x2000, 8, 0x3000, 9];
    let three = stack_in(&file, &memory, &[2, 4]);
    assert!(is_stack_in(&file, three, &memory));
    assert!(is_stack_in(&file, three, &[0x1000, 0, 0x2000, 0, 0x3000, 0]), "other locals");
    assert!(!is_stack_in(&file, three, &[0x1000, 7, 0x2000, 8, 0x3001, 9]), "another caller");
    assert!(!is_stack_in(&file, three, &[0x1001, 7, 0x2000, 8, 0x3000, 9]), "another call");
    assert!(!is_stack_in(&file, three, &[0x1000, 7, 0x2000, 8, 0x3000, 9, 0x4000, 0]), "deeper");
    assert!(!is_stack_in(&file, 0, &memory), "none");

    // The stack of a call by a thread's start function has only one frame.
    let one = stack_in(&file, &memory[4..], &[]);
    assert!(is_stack_in(&file, one, &memory[4..]));
    assert!(!is_stack_in(&file, one, &[0x3000, 9, 0x2000, 0]), "called by another");
    assert!(!is_stack_in(&file, one, &memory[..2]), "another call");

    // A call finds its stack by itself, unless another call has taken its entry of the index.
    let within = memory.as_ptr_range();
    let within = within.start.addr()..within.end.addr();
    // SAFETY: the memory is there.
    let known = |at: usize| unsafe {
        file.stack_of_call(&raw const memory[at], memory[at], within.clone())
    };
    assert_eq!(known(0), Some(three));
    assert_eq!(known(4), Some(one));
    assert_eq!(known(2), None);
}

fn stack_of(file: &File, frames: &[u64]) -> u32 {
    let stack = Stack { frames, slots: None, cut: false, broken: false };
    file.add_stack(&stack, CALLER, frames[0] as usize, 0..0)
}

fn read(folder: &Path) -> ProcessFile {
    let files = process_files(folder).expect("a folder");
    assert_eq!(files.len(), 1);
    ProcessFile::open(&files[0]).expect("a recording")
}

fn shelf() -> Shelf {
    // SAFETY: all zero is the empty shelf.
    unsafe { std::mem::zeroed() }
}

#[test]
fn threads_write_at_once_and_all_is_read() {
    const THREADS: u32 = 4;
    const LOCKS: u64 = 1000;
    let folder = tempfile::tempdir().expect("a folder");
    let (file, shelf) = (create(folder.path()), shelf());
    let room = Room { file: &file, shelf: &shelf };
    let module = ModuleRecord::new((0x1000, 0x2000), 0x1000, b"/usr/lib/a.so", b"id");
    assert_eq!(file.add_module(&module), Some(0));
    let stacks = [stack_of(&file, &[0x1010, 0x1020]), stack_of(&file, &[0x1030])];
    assert_eq!(stacks, [1, 2]);
    assert_eq!(stack_of(&file, &[0x1010, 0x1020]), 1, "each is stored once");
    thread::scope(|scope| {
        for tid in 1..=THREADS {
            scope.spawn(move || {
                let writer = Writer::begin(room, tid);
                for lock in (1..=LOCKS).chain(1..=LOCKS) {
                    writer.count(lock, lock * u64::from(tid), stacks[lock as usize % 2]);
                }
                writer.end();
            });
        }
    });
    file.end(1000);

    let read = read(folder.path());
    assert_eq!((read.header.started, read.header.ended), (10, 1000));
    assert_eq!(read.modules.len(), 1);
    assert_eq!(
        (read.modules[0].path(), read.modules[0].build_id()),
        ("/usr/lib/a.so".into(), &b"id"[..])
    );
    assert_eq!(read.threads.len(), THREADS as usize);
    for thread in &read.threads {
        let tid = u64::from(thread.record.tid);
        assert_eq!((thread.record.name(), thread.record.rows), ("worker".into(), LOCKS as u32));
        assert_eq!(thread.rows.len(), LOCKS as usize);
        for row in &thread.rows {
            assert_eq!(row.counts.calls, 2 * row.counts.lock * tid);
            assert_eq!(row.waits.as_ref().expect("waits").waits, row.counts.calls);
            let stack: &[u64] =
                if row.counts.lock % 2 == 0 { &[0x1010, 0x1020] } else { &[0x1030] };
            assert_eq!(read.stack(row.counts.stack), stack);
        }
        assert_eq!(thread.record.logged, 2 * LOCKS);
        assert_eq!(thread.log.len(), 2 * LOCKS as usize);
        assert!(thread.log.iter().all(|event| event.ended == event.began + 50));
    }
}

/// A process that still runs or was killed may have claimed a module record without having filled
/// it in.
#[test]
fn a_module_that_is_not_filled_in_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = create(folder.path());
    let module = ModuleRecord::new((0x1000, 0x2000), 0x1000, b"/usr/lib/a.so", b"id");
    assert_eq!(file.add_module(&module), Some(0));
    let path = process_files(folder.path()).expect("a folder").remove(0);
    let bytes = std::fs::File::options().write(true).open(path).expect("a file");
    let count = offset_of!(Header, modules) + offset_of!(Region, count);
    bytes.write_all_at(&2u32.to_ne_bytes(), count as u64).expect("room");
    let modules = read(folder.path()).modules;
    assert_eq!(modules.iter().map(ModuleRecord::path).collect::<Vec<_>>(), ["/usr/lib/a.so"]);
}

#[test]
fn a_thread_goes_on_with_the_record_of_one_that_ended() {
    /// The number of records that a process gets, and 4 threads that find none.
    const THREADS: u32 = 4096 + 4;
    let folder = tempfile::tempdir().expect("a folder");
    let (file, shelf) = (create(folder.path()), shelf());
    let room = Room { file: &file, shelf: &shelf };
    for tid in 1..=THREADS {
        let writer = Writer::begin(room, tid);
        writer.count(7, 1, 0);
        writer.end();
    }
    let read = read(folder.path());
    assert_eq!(read.threads.len(), 4096);
    let calls = read.threads.iter().flat_map(|thread| &thread.rows).map(|row| row.counts.calls);
    assert_eq!(calls.sum::<u64>(), u64::from(THREADS), "their rows are counted in, too");
    assert_eq!(read.threads.iter().map(|thread| thread.record.lifetimes).max(), Some(2));
}

#[test]
fn a_full_log_keeps_windows_of_the_whole_run() {
    const EVENTS: u64 = 100_000;
    let folder = tempfile::tempdir().expect("a folder");
    let (file, shelf) = (create(folder.path()), shelf());
    let writer = Writer::begin(Room { file: &file, shelf: &shelf }, 1);
    for moment in 1..=EVENTS {
        writer.log_wait(7, 100 * moment, 0);
    }
    let read = read(folder.path());
    let (log, windows) = (&read.threads[0].log, read.threads[0].windows);
    assert_eq!(read.threads[0].record.logged, EVENTS);
    assert!((4096..=16_384).contains(&log.len()), "{}", log.len());
    assert!(log.iter().all(|event| windows.keep(event.began, event.ended)));
    let half = 50 * EVENTS;
    assert!(log.iter().any(|e| e.ended < half) && log.iter().any(|e| e.ended > half));
}

#[test]
fn a_forked_child_writes_to_its_parents_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, own_shelf) = (create(folder.path()), shelf());
    let parent = Writer::begin(Room { file: &file, shelf: &own_shelf }, 1);
    parent.count(1, 1, 0);
    file.count(offset_of!(Header, acquired_before), 3);
    // The child is in the same process here, but is another process for the file.
    let child = Child { started: 500, started_realtime: 600, inherited: 0 };
    let joined = File::join(&file, &child, |arguments| arguments[..6].copy_from_slice(b"child\0"));
    let joined = joined.expect("room for another process");
    let childs_shelf = shelf();
    let writer = Writer::begin(Room { file: &joined, shelf: &childs_shelf }, 2);
    writer.count(1, 5, 0);
    writer.end();
    joined.end(700);
    parent.end();

    let path = &process_files(folder.path()).expect("a folder")[0];
    let found = processes(path);
    assert_eq!(found.len(), 2);
    let calls = |process: &Path| {
        let read = ProcessFile::open(process).expect("a process");
        let calls: Vec<u64> =
            read.threads.iter().flat_map(|t| &t.rows).map(|row| row.counts.calls).collect();
        let header = &read.header;
        (header.started, header.ended, header.acquired_before, calls)
    };
    let mut all: Vec<_> = found.iter().map(|(process, _)| calls(process)).collect();
    all.sort();
    assert_eq!(all, [(10, 0, 3, vec![1]), (500, 700, 0, vec![5])]);
}
