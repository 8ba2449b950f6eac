//! The format of a file of a recording, field by field. A file belongs to one process, and to
//! children that it forked.
//!
//! ```text
//! 0          Header, one page
//! ...        three regions of records of a fixed size, each filled from its start:
//!              modules   ModuleRecord   which code was mapped where
//!              threads   ThreadRecord   one for each thread; leads to its tables and its log
//!              stacks    StackRecord    call stacks, each stored once, numbered from 1
//! ...        the arena: tables of rows, wait records, nest records and logs of events,
//!            handed out from its start; and a page for each forked child, its Header
//! ```
//!
//! A forked child has its parent's file mapped, and usually has little to record. So if there is
//! room, it writes to that file too: it gets a header of its own, in a page of the arena, and
//! shares the regions and the arena. Each thread record and each module record names its process
//! (as in [`ThreadRecord::process`]), but all processes of the file share the stacks.
//! [`Header::newest`] and [`Header::before`] link the children's headers to a list.
//!
//! All numbers are in the machine's own byte order, which [`Header::byte_order`] shows. Offsets are
//! in bytes from the start of the file. Only offsets into the arena are in *units* of 64 bytes from
//! its start, so that they fit into 32 bits. Times are in ticks of [`Header::clock`]; a second has
//! [`Header::ticks_per_second`] of them.
//!
//! Many threads write at the same time, and none waits for a reader. Therefore:
//!
//! - each row, wait record, nest record and thread record is written only by its own thread. There
//!   is one exception: the thread that ends the process or the recording writes
//!   [`ThreadRecord::left_cpu_ns`] and [`ThreadRecord::left_ready_ns`] of all threads;
//! - a record becomes visible when one of its words is stored, after all others are filled in
//!   (`Row::key`, `ThreadRecord::state`, `StackRecord::depth`, `EventRecord::kind`,
//!   [`ModuleRecord::start`], [`Header::newest`]);
//! - a table that must grow is copied to a larger one. Then one store to [`ThreadRecord::table`] or
//!   [`ThreadRecord::places`] replaces the old table;
//! - counters only grow, but a reader may find one counter of a row already increased and the next
//!   not yet.
//!
//! The file has its largest size from the start, but is sparse: parts that were never used take no
//! space.

mod thread;
mod wait;

use bytemuck::{Pod, Zeroable};

pub use thread::{FOUND, THREAD_EXITED, THREAD_NONE, THREAD_RUNNING, ThreadRecord};
pub use wait::{BLOCKERS, BUCKETS, Blocker, FIRST_BUCKET_LOG2, WaitRecord, bucket};

/// The first eight bytes of a file.
pub const MAGIC: [u8; 8] = *b"SYNCLINE";
/// The version of this format. A reader refuses files of any other version.
pub const VERSION: u32 = 9;
/// The value of [`Header::byte_order`]. On a machine of the other byte order it reads differently.
pub const BYTE_ORDER: u32 = 0x0102_0304;
/// The size of a page. The header has one page, so this is also the offset of the first region.
pub const HEADER_SIZE: usize = 4096;
/// The number of bytes in a unit of the arena.
pub const UNIT: u64 = 64;

/// [`Header::clock`]: the processor's time stamp counter.
pub const CLOCK_TSC: u32 = 1;
/// [`Header::clock`]: `CLOCK_MONOTONIC` in nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 2;

/// [`Header::state`]: the process runs, or was killed so that it could not note its end.
pub const PROCESS_RUNNING: u32 = 1;
/// [`Header::state`]: the process has ended by itself, through `exit`, `_exit`, `quick_exit` or the
/// system call.
pub const PROCESS_EXITED: u32 = 2;
/// [`Header::state`]: recording has ended, and the process has gone on.
pub const PROCESS_LEFT: u32 = 3;

/// A bit of [`Header::seen`]: the parent has seen the process end.
pub const SEEN: u32 = 1 << 16;

/// A region: a sequence of records of one size.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Region {
    /// The offset of the first record.
    pub offset: u64,
    /// The number of bytes from one record to the next.
    pub record_size: u32,
    /// How many records fit into the region.
    pub capacity: u32,
    /// How many records have been handed out, at most `capacity`. Some may not be filled in yet.
    pub count: u32,
    /// How many records were requested but could not be handed out.
    pub dropped: u32,
}

impl Region {
    /// An empty region for `capacity` records of the type `T`, at the offset `next`. Moves `next`
    /// to the first page after the region.
    pub fn after<T>(next: &mut u64, capacity: u32) -> Region {
        let record_size = size_of::<T>() as u32;
        let offset = *next;
        *next += (u64::from(capacity) * u64::from(record_size)).next_multiple_of(4096);
        Region { offset, record_size, capacity, count: 0, dropped: 0 }
    }
}

/// The header of a process, which takes one page of the file.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], which is stored last when the file is made.
    pub magic: [u8; 8],
    /// [`VERSION`]
    pub version: u32,
    /// [`BYTE_ORDER`]
    pub byte_order: u32,
    /// The process's machine type as in an ELF file, such as 62 for x86-64.
    pub machine: u32,
    /// [`CLOCK_TSC`] or [`CLOCK_MONOTONIC`]
    pub clock: u32,
    /// The number of the clock's ticks in a second.
    pub ticks_per_second: u64,
    /// When recording began, in ticks.
    pub started: u64,
    /// When recording began, in nanoseconds since 1970.
    pub started_realtime: u64,
    /// When recording ended, or the process noted its end, or its parent learned of it, in ticks; 0
    /// if none of these has happened.
    pub ended: u64,
    /// [`PROCESS_RUNNING`], [`PROCESS_EXITED`] or [`PROCESS_LEFT`]
    pub state: u32,
    /// The process's number.
    pub pid: u32,
    /// The process number of the parent at the time when recording began.
    pub parent: u32,
    /// At first, on average one in this many uncontended operations is sampled; later fewer are. A
    /// sampled operation is timed from the acquisition to the release, and shows to which locks the
    /// counts of a place's [`REST`] belong. 1 if [`Header::timeline`] is set.
    pub sample_period: u32,
    /// The most bytes that the file may have.
    pub file_size: u64,
    /// The [`ModuleRecord`]s.
    pub modules: Region,
    /// The [`ThreadRecord`]s.
    pub threads: Region,
    /// The [`StackRecord`]s. Record 0 is not used.
    pub stacks: Region,
    /// The offset of the arena, in bytes.
    pub arena_offset: u64,
    /// How many units of the arena have been handed out, from its start on.
    pub arena_used: u64,
    /// The number of units in the arena.
    pub arena_capacity: u64,
    /// How many operations were not counted because there was no room for a row or a wait record,
    /// or because their thread could not be recorded.
    pub dropped_operations: u64,
    /// How many waits were counted without their length because there was no room for a wait
    /// record.
    pub dropped_waits: u64,
    /// How many operations were not counted because they came from a signal handler that had
    /// interrupted the recorder itself, or while the file was being made.
    pub interrupted_operations: u64,
    /// 1 if the file system has run out of room.
    pub disk_full: u32,
    /// 1 if, after a `dlclose`, code that uses locks was loaded at the address of other code, so
    /// that addresses there are ambiguous.
    pub modules_changed: u32,
    /// 1 if the logs have every hold of a lock ([`EVENT_HOLD`]); 0 if they have only waits.
    pub timeline: u32,
    /// What the parent learned of the process's end: the bit [`SEEN`], and in the low 16 bits the
    /// status as `wait` returns it. 0 if the parent has not noted an end.
    pub seen: u32,
    /// Only in the file's first header: the page of the newest child's header; 0 if there is no
    /// child.
    pub newest: u32,
    /// Only in a child's header: the page of the header that was the newest when the child began; 0
    /// for the first child.
    pub before: u32,
    /// Only in a child's header: the page of its parent's header. 0 is the file's first page.
    pub parent_page: u32,
    /// Only in a child's header: those modules of its parent whose index is below this number are
    /// also the child's.
    pub inherited: u32,
    /// The number of the process's thread records, to which [`Header::latest_thread`] leads.
    /// Readers use this list only for a child; for the first process they go through all records.
    pub own_threads: u32,
    /// The index plus 1 of the process's latest thread record; 0 if there is none.
    /// [`ThreadRecord::previous`] leads to the others.
    pub latest_thread: u32,
    /// Only for the writers: 1 while room in the file is reserved for the process.
    pub live: u32,
    /// 1 if the recorder was attached to the process while it ran, so that the file lacks what
    /// happened before. (Files that are older than this field have 0 here.)
    pub attached: u32,
    /// The path of the executable, ended by a zero byte.
    pub executable: [u8; 1024],
    /// The arguments, each ended by a zero byte. What does not fit is cut off.
    pub arguments: [u8; 2048],
    /// How many releases of locks there were that had been acquired before recording began.
    pub acquired_before: u64,
    /// How many pointers to counted functions the program keeps outside of the tables through which
    /// modules call each other. Calls through these pointers are not counted. The number is
    /// determined when the recorder is attached to a running process; otherwise it is 0.
    pub pointers_missed: u64,
    /// When the current window of time began, in ticks. Its number is [`Header::window`].
    pub window_began: u64,
    /// Only in the file's first header: how often a reader has taken the logs, which is the number
    /// of the current window. Only such a reader writes this field. A log of an earlier window is
    /// begun anew at its next event. (Files that are older than this field have 0 here.)
    pub window: u32,
    /// 1 if the threads' processor time is counted only from [`Header::started`] on, because the
    /// file is that of a later window.
    pub based: u32,
}

/// A module: code of an executable or a library in the process's memory.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ModuleRecord {
    /// The first address; 0 if this record is not filled in yet.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// What to subtract from an address in memory to get the address that the module's own file
    /// uses.
    pub bias: u64,
    /// The length of the build-id in bytes; 0 if the module has none.
    pub build_id_len: u32,
    /// The page of the header of the process that found the module. 0 is the file's first page.
    pub process: u32,
    /// The build-id.
    pub build_id: [u8; 32],
    /// The path of the module's file, ended by a zero byte.
    pub path: [u8; 448],
}

impl ModuleRecord {
    /// The record of a module that is mapped from `start` to `end`. A path or build-id that is too
    /// long is cut off.
    pub fn new((start, end): (u64, u64), bias: u64, path: &[u8], build_id: &[u8]) -> ModuleRecord {
        let mut record = ModuleRecord { start, end, bias, ..Zeroable::zeroed() };
        let length = path.len().min(record.path.len() - 1);
        record.path[..length].copy_from_slice(&path[..length]);
        let length = build_id.len().min(record.build_id.len());
        record.build_id[..length].copy_from_slice(&build_id[..length]);
        record.build_id_len = length as u32;
        record
    }
}

/// The most frames of a stack that are kept.
pub const STACK_FRAMES: usize = 15;

/// A bit of [`StackRecord::flags`]: there were more frames than fit.
pub const STACK_CUT: u8 = 1;
/// A bit of [`StackRecord::flags`]: unwinding ended early, for lack of unwind information.
pub const STACK_BROKEN: u8 = 2;

/// A call stack, the innermost frame first.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct StackRecord {
    /// A hash by which the writer finds equal stacks. Readers accept any value.
    pub hash: u32,
    /// The number of frames; 0 if this record has no stack.
    pub depth: u8,
    /// The bits [`STACK_CUT`] and [`STACK_BROKEN`].
    pub flags: u8,
    /// Not used.
    pub reserved: u16,
    /// The return addresses. Each is the address of the instruction after a call.
    pub frames: [u64; STACK_FRAMES],
}

/// The value of [`Row::lock`] in a row that counts for several locks: those that have no rows of
/// their own at a place with too many locks to distinguish. Each sampled operation moves what was
/// counted since the last sample to the row of its own lock. In this row, `held_ticks` is the
/// number of calls that have been moved in this way. Creations are not moved. Refused tries are
/// counted and moved likewise, in the row's [`WaitRecord`], which counts nothing else.
pub const REST: u64 = 0;
/// The low byte of [`Row::key`] if the slot has no row but a note that the writer left for itself.
pub const NOTE: u64 = 0xff;
/// The value of [`Row::depth`] in a row that stands for all further stack depths.
pub const ANY_DEPTH: u32 = u32::MAX;
/// Set in [`Row::key`] if the calls at this depth have different callers. Then the bits below, down
/// to [`PATH_SHIFT`], are a number for the caller, and each has rows of its own. The number is 0 in
/// the row of the place from before that was noticed.
pub const APART: u64 = 1 << 63;
/// The position of the caller's number in [`Row::key`].
pub const PATH_SHIFT: u32 = 44;

/// A row: the counts of one thread, at one place, for one lock or for many ([`REST`]).
///
/// A place is a return address together with the depth of the stack, because two paths to one call
/// usually differ in depth. Paths of the same depth are distinguished by the caller ([`APART`]). A row
/// is exactly one cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Row {
    /// The address of the lock, or of what else the operation works on.
    pub lock: u64,
    /// The return address of the call.
    pub ret: u64,
    /// The operation and the depth, combined by [`Row::key`], and the caller's number if there is
    /// one; 0 while the row is empty.
    pub key: u64,
    /// The number of calls that did what the operation is for (see [`crate::Class`]).
    pub calls: u64,
    /// The sum of the timed holds after uncontended acquisitions, in ticks. Each hold is added as
    /// often as it counts in `held_samples`. If a hold is longer than all earlier ones, its excess
    /// over the longest of them is added only once.
    pub held_ticks: u64,
    /// The longest of these holds, in ticks. For the creation of semaphores: their largest initial
    /// value.
    pub held_max: u64,
    /// The number of these holds, each counted with its weight. The weight is 1 if a hold stands
    /// for [`Header::sample_period`] acquisitions. It is larger in a row that has counted many,
    /// whose acquisitions are timed more rarely.
    pub held_samples: u32,
    /// The number of the call's stack; 0 if there is none.
    pub stack: u32,
    /// The unit of the row's [`WaitRecord`]; 0 if the row has none.
    pub wait: u32,
    /// The unit of the row's [`NestRecord`]; 0 if the thread was never found to hold another lock
    /// at this call.
    pub nest: u32,
}

impl Row {
    /// Combines an operation and a stack depth in bytes.
    pub const fn key(op: crate::op::Op, depth: u32) -> u64 {
        (depth as u64) << 8 | op as u64
    }

    /// The operation; `None` if the key has no valid one.
    pub fn op(&self) -> Option<crate::op::Op> {
        crate::op::Op::from_code(self.key as u8)
    }

    /// The stack depth in bytes.
    pub fn depth(&self) -> u32 {
        (self.key >> 8) as u32
    }
}

/// The number of locks that a nest record distinguishes.
pub const NESTS: usize = 3;

/// A lock that a thread already held when it acquired another one.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Nest {
    /// The innermost lock that the thread held; 0 while this slot is free.
    pub lock: u64,
    /// The number of the stack at which that lock had been acquired, from the first time that it
    /// was found held.
    pub stack: u32,
    /// The number of sampled acquisitions at which the thread held it. Each is counted with its
    /// weight, as in [`Row::held_samples`]; acquisitions that waited have the weight 1.
    pub seen: u32,
}

/// The locks that a thread already held when it acquired a row's lock. Only timed acquisitions are
/// examined: the first, then one in [`Header::sample_period`] (later fewer), and all that waited.
/// The record is exactly one cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct NestRecord {
    /// The number of sampled acquisitions at which the thread held no other lock, including those
    /// before this record was made. Each is counted with its weight.
    pub alone: u32,
    /// The number of sampled acquisitions at which the thread held a lock for which no slot was
    /// left. Each is counted with its weight.
    pub others: u32,
    /// The locks that were found.
    pub locks: [Nest; NESTS],
    /// Not used.
    pub reserved: u64,
}

/// [`EventRecord::kind`]: the event is a wait.
pub const EVENT_WAIT: u8 = 1;
/// [`EventRecord::kind`]: the event is a hold of a lock.
pub const EVENT_HOLD: u8 = 2;
/// [`EventRecord::who`]: the thread is unknown, or there is none.
pub const NOBODY: u16 = u16::MAX;
/// [`EventRecord::who`]: no thread, but a signal ended the wait.
pub const SIGNAL: u16 = u16::MAX - 1;

/// An event in a thread's log: a wait, or, if [`Header::timeline`] is set, also a hold of a lock.
/// If a wait releases the lock, as that for a condition does, the hold ends before the wait and
/// another one begins after it. The events of a log are in the order in which they ended.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct EventRecord {
    /// When it began, in ticks.
    pub began: u64,
    /// When it ended, in ticks.
    pub ended: u64,
    /// The address of the lock, or of what else the thread waited for.
    pub lock: u64,
    /// The number of the stack of the acquisition or the wait; 0 if there is none.
    pub stack: u32,
    /// For a wait, the index of the thread that held the lock or that woke this one; [`SIGNAL`]
    /// if a signal ended the wait; [`NOBODY`] if that is unknown, and for a hold.
    pub who: u16,
    /// The operation's code.
    pub op: u8,
    /// [`EVENT_WAIT`] or [`EVENT_HOLD`]; 0 while the other fields are being written.
    pub kind: u8,
}

const _: () = {
    assert!(size_of::<Header>() <= HEADER_SIZE);
    assert!(size_of::<ModuleRecord>() == 512);
    assert!(size_of::<ThreadRecord>() == 256);
    assert!(size_of::<StackRecord>() == 128);
    assert!(size_of::<Row>() == 64);
    assert!(size_of::<WaitRecord>() == 448);
    assert!(size_of::<NestRecord>() == 64);
    assert!(size_of::<EventRecord>() == 32);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_double_and_the_last_is_open() {
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(127), 0);
        assert_eq!(bucket(128), 1);
        assert_eq!(bucket(255), 1);
        assert_eq!(bucket(256), 2);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn a_row_key_gives_back_its_operation_and_depth() {
        let mut row = Row::zeroed();
        assert_eq!(row.op(), None);
        row.key = Row::key(crate::Op::SpinLock, u32::MAX);
        assert_eq!(row.op(), Some(crate::Op::SpinLock));
        assert_eq!(row.depth(), u32::MAX);
    }

    #[test]
    fn a_callers_number_changes_neither_operation_nor_depth() {
        let before = Row { key: Row::key(crate::Op::SpinLock, 0xffff_fff0), ..Row::zeroed() };
        let after = Row { key: before.key | APART | 0x7_ffff << PATH_SHIFT, ..before };
        assert_eq!((after.op(), after.depth()), (before.op(), before.depth()));
    }
}
