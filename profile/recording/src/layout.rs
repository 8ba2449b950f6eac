//! The file of a process, and of the children that it forked, field by field.
//!
//! ```text
//! 0          Header, one page
//! ...        three regions of records of a fixed size, each filled from its start:
//!              modules   ModuleRecord   what was mapped where, for symbols
//!              threads   ThreadRecord   one a thread; points to its table of rows
//!              stacks    StackRecord    call stacks, each stored once, numbered from 1
//! ...        the arena: tables of rows, wait records, nest records and logs of events,
//!            handed out from its start; and a page for each forked child, its Header
//! ```
//!
//! A forked child has its parent's file mapped, and usually has little to record. So it writes to
//! that file, if there is room: it gets a header of its own, in a page of the arena, and shares the
//! regions and the arena. Each thread record and module record names its process
//! ([`ThreadRecord::process`]); all processes of the file may use a stack. [`Header::newest`] and
//! [`Header::before`] link the children's headers.
//!
//! All numbers are in the machine's own byte order, which [`Header::byte_order`] shows.
//! Offsets are in bytes from the start of the file; a *unit* is 64 bytes, and offsets into
//! the arena are kept in units so that they fit 32 bits. Times are in ticks of
//! [`Header::clock`]; [`Header::ticks_per_second`] converts them.
//!
//! Many threads write at the same time, and none waits for a reader. Therefore:
//!
//! - each row, wait record, nest record and thread record is written by its own thread only, except
//!   that the thread that ends the process or the recording writes [`ThreadRecord::left_cpu_ns`] and
//!   [`ThreadRecord::left_ready_ns`] of all;
//! - a record is filled in before a store to one word makes it visible (`Row::key`,
//!   `ThreadRecord::state`, `StackRecord::depth`, `EventRecord::kind`, [`ModuleRecord::start`],
//!   [`Header::newest`]);
//! - a table that grows is copied, then swapped by one store of [`ThreadRecord::table`] or
//!   [`ThreadRecord::places`];
//! - counters only grow, but a reader may find one counter of a row increased and not yet the next.
//!
//! The file is sparse and has its largest size from the start; parts that were never used take no
//! space.

mod thread;
mod wait;

use bytemuck::{Pod, Zeroable};

pub use thread::{FOUND, THREAD_EXITED, THREAD_NONE, THREAD_RUNNING, ThreadRecord};
pub use wait::{BLOCKERS, BUCKETS, Blocker, FIRST_BUCKET_LOG2, WaitRecord, bucket};

/// The first eight bytes of a file.
pub const MAGIC: [u8; 8] = *b"SYNCLINE";
/// The version of this layout. A reader refuses all others.
pub const VERSION: u32 = 7;
/// [`Header::byte_order`] as the writer's machine stores it.
pub const BYTE_ORDER: u32 = 0x0102_0304;
/// The size of a page, which is also the offset of the first region.
pub const HEADER_SIZE: usize = 4096;
/// Arena offsets are multiples of this many bytes.
pub const UNIT: u64 = 64;

/// [`Header::clock`]: the processor's invariant time stamp counter.
pub const CLOCK_TSC: u32 = 1;
/// [`Header::clock`]: `CLOCK_MONOTONIC` in nanoseconds.
pub const CLOCK_MONOTONIC: u32 = 2;

/// [`Header::state`]: the process runs, or was killed before it could note its end.
pub const PROCESS_RUNNING: u32 = 1;
/// [`Header::state`]: ended by itself, through `exit`, `_exit`, `quick_exit` or the system call.
pub const PROCESS_EXITED: u32 = 2;
/// [`Header::state`]: recording ended, and the process went on.
pub const PROCESS_LEFT: u32 = 3;

/// [`Header::seen`]: the parent has seen the process end.
pub const SEEN: u32 = 1 << 16;

/// A run of records of one size.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Region {
    /// Where the first record starts.
    pub offset: u64,
    /// Bytes from one record to the next.
    pub record_size: u32,
    /// Records that fit.
    pub capacity: u32,
    /// Records that were handed out, at most `capacity`. Some may not be filled in yet.
    pub count: u32,
    /// Records that were requested and could not be given.
    pub dropped: u32,
}

impl Region {
    /// A region for `capacity` records, empty, at `next`. Moves `next` to the first page behind the
    /// region.
    pub fn after<T>(next: &mut u64, capacity: u32) -> Region {
        let record_size = size_of::<T>() as u32;
        let offset = *next;
        *next += (u64::from(capacity) * u64::from(record_size)).next_multiple_of(4096);
        Region { offset, record_size, capacity, count: 0, dropped: 0 }
    }
}

/// The first page.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], stored last when the file is made.
    pub magic: [u8; 8],
    /// [`VERSION`]
    pub version: u32,
    /// [`BYTE_ORDER`]
    pub byte_order: u32,
    /// ELF machine number of the process, such as 62 for x86-64.
    pub machine: u32,
    /// [`CLOCK_TSC`] or [`CLOCK_MONOTONIC`]
    pub clock: u32,
    /// Ticks of the clock in a second.
    pub ticks_per_second: u64,
    /// When recording began, in ticks.
    pub started: u64,
    /// When recording began, in nanoseconds since 1970.
    pub started_realtime: u64,
    /// When recording ended, the process noted its end, or its parent learned of it, in ticks; 0 if
    /// none of these happened.
    pub ended: u64,
    /// [`PROCESS_RUNNING`], [`PROCESS_EXITED`] or [`PROCESS_LEFT`]
    pub state: u32,
    /// The process's number.
    pub pid: u32,
    /// The parent's process number when recording began.
    pub parent: u32,
    /// One uncontended operation in this many is sampled at first, on average. It is timed from
    /// acquire to release, and shows to which locks the counts of a place's [`REST`] belong. 1 if
    /// [`Header::timeline`] is set.
    pub sample_period: u32,
    /// The most bytes that the file may have.
    pub file_size: u64,
    /// [`ModuleRecord`]s
    pub modules: Region,
    /// [`ThreadRecord`]s
    pub threads: Region,
    /// [`StackRecord`]s; record 0 is not used.
    pub stacks: Region,
    /// Where the arena starts, in bytes.
    pub arena_offset: u64,
    /// Units of the arena that were handed out; all of them are at its start.
    pub arena_used: u64,
    /// The number of units that the arena has.
    pub arena_capacity: u64,
    /// Operations that were not counted because there was no row for them.
    pub dropped_operations: u64,
    /// Waits that were counted without their length because there was no wait record for them.
    pub dropped_waits: u64,
    /// Operations not counted because they came from a signal handler that interrupted
    /// the recorder itself.
    pub interrupted_operations: u64,
    /// 1 if the file system has run out of room.
    pub disk_full: u32,
    /// 1 if, after a `dlclose`, code that uses locks was loaded at the address of other code:
    /// addresses there are ambiguous.
    pub modules_changed: u32,
    /// 1 if the logs hold every acquisition ([`EVENT_HOLD`]); 0 if they hold only waits.
    pub timeline: u32,
    /// What the parent learned of the process's end: [`SEEN`], and in the low 16 bits the status as
    /// `wait` gives it. 0 if no parent noted it.
    pub seen: u32,
    /// In the file's first header: the page of the newest child's header; 0 if there is none.
    pub newest: u32,
    /// In a child's header: the page of the header that was the newest when the child began; 0 if
    /// it is the first child.
    pub before: u32,
    /// In a child's header: the page of its parent's header; 0 is the file's first page.
    pub parent_page: u32,
    /// In a child's header: the child knows those modules of its parent whose index is below this
    /// one.
    pub inherited: u32,
    /// How many thread records the process has. [`Header::latest_thread`] leads to them. Readers
    /// follow it only for a child; the first process's threads are all records with its page.
    pub own_threads: u32,
    /// Index plus 1 of the process's latest thread record; [`ThreadRecord::previous`] leads to the
    /// others. 0 if there is none.
    pub latest_thread: u32,
    /// For the writers: 1 while the file keeps room for the process.
    pub live: u32,
    /// 1 if the recorder was attached to a running process: what happened before is not in the
    /// file. 0 in files that are older than this field.
    pub attached: u32,
    /// Path of the executable, ended by a zero byte.
    pub executable: [u8; 1024],
    /// Arguments, each ended by a zero byte, cut where they do not fit.
    pub arguments: [u8; 2048],
    /// Releases of locks that were acquired before recording began.
    pub acquired_before: u64,
    /// Pointers to counted functions that the program keeps outside of the tables through which
    /// modules call each other: calls through these are not seen. Counted once, when a process is
    /// attached to; otherwise 0.
    pub pointers_missed: u64,
    /// When the window of number [`Header::window`] began, in ticks.
    pub window_began: u64,
    /// In the file's first header: how often a reader has taken the logs. Only such a reader writes
    /// here. A log of an earlier window is begun anew at its next event. 0 in files that are older
    /// than this field.
    pub window: u32,
    /// 1 if the threads' processor time is counted from [`Header::started`] on, because the file is
    /// of a later window.
    pub based: u32,
}

/// A piece of code in the process's memory.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ModuleRecord {
    /// First address; 0 if this record is not filled in yet.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// What to subtract from an address in memory to get the address in the file's own symbols.
    pub bias: u64,
    /// Bytes of the build-id that are in use; 0 if the file has none.
    pub build_id_len: u32,
    /// The page of the header of the process that found the module; 0 is the file's first page.
    pub process: u32,
    /// The build-id.
    pub build_id: [u8; 32],
    /// Path, ended by a zero byte.
    pub path: [u8; 448],
}

impl ModuleRecord {
    /// The record of an object that is mapped from `start` to `end`. A path or build-id that is too
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

/// How many frames a stack keeps.
pub const STACK_FRAMES: usize = 15;

/// [`StackRecord::flags`]: there were more frames than fit.
pub const STACK_CUT: u8 = 1;
/// [`StackRecord::flags`]: unwinding ended early, for lack of unwind information.
pub const STACK_BROKEN: u8 = 2;

/// A call stack, the innermost frame first.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct StackRecord {
    /// For finding equal stacks; readers accept any value.
    pub hash: u32,
    /// Frames in use; 0 if this record holds no stack.
    pub depth: u8,
    /// [`STACK_CUT`], [`STACK_BROKEN`]
    pub flags: u8,
    /// Not used.
    pub reserved: u16,
    /// Return addresses: each the address after a call.
    pub frames: [u64; STACK_FRAMES],
}

/// [`Row::lock`] of a row that counts for all locks of the place that have no rows of their own;
/// they are too many to be distinguished. Each sampled operation moves what was counted since the
/// last sample to the row of its own lock: `held_ticks` is the count of calls up to which that was
/// done. Creations are not distributed.
pub const REST: u64 = 0;
/// The low byte of [`Row::key`] if there is no row, but a note that the writer left for itself.
pub const NOTE: u64 = 0xff;
/// [`Row::depth`] of a row that stands for all further depths.
pub const ANY_DEPTH: u32 = u32::MAX;

/// The sums of one thread at one place for one lock, or for many ([`REST`]).
///
/// The place is the return address and the depth of the stack: two paths to one call usually differ
/// in depth. A row is exactly one cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Row {
    /// Address of the lock, or of another object of the operation.
    pub lock: u64,
    /// Return address of the call.
    pub ret: u64,
    /// [`Row::key`]; 0 while the row is empty.
    pub key: u64,
    /// Calls that did what the operation is for (see [`crate::Class`]).
    pub calls: u64,
    /// Ticks held, over the uncontended acquisitions that were timed. Each is added as often as it
    /// counts in `held_samples`.
    pub held_ticks: u64,
    /// The longest of these holds. For a semaphore's creation: its initial value, or the largest of
    /// several.
    pub held_max: u64,
    /// How many of these holds were timed, each counted with its weight: 1 if it stands for
    /// [`Header::sample_period`] acquisitions, and more in a row that has counted many, which is
    /// timed more rarely.
    pub held_samples: u32,
    /// Number of the stack; 0 if there is none.
    pub stack: u32,
    /// Unit of the [`WaitRecord`]; 0 if the row has none.
    pub wait: u32,
    /// Unit of the [`NestRecord`]; 0 if no other lock was ever seen held here.
    pub nest: u32,
}

impl Row {
    /// The key of an operation and of a stack depth in bytes.
    pub const fn key(op: crate::op::Op, depth: u32) -> u64 {
        (depth as u64) << 8 | op as u64
    }

    /// The operation, if the key holds one.
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

/// A lock that the thread already held when it acquired another.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Nest {
    /// The innermost lock that the thread held; 0 while this slot is free.
    pub lock: u64,
    /// Stack at which that lock had been acquired, when it was first found held.
    pub stack: u32,
    /// Sampled acquisitions that found it held, each counted with its weight, as in
    /// [`Row::held_samples`]; those that waited have weight 1.
    pub seen: u32,
}

/// The locks that were already held when a row's lock was acquired. Only timed acquisitions are
/// sampled: the first, one in [`Header::sample_period`] (later fewer), and each that waited. The record is
/// exactly one cache line.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct NestRecord {
    /// Sampled acquisitions that found no lock held, including those before this record was made,
    /// each counted with its weight.
    pub alone: u32,
    /// Sampled acquisitions that found a lock for which no slot was left, each counted with its
    /// weight.
    pub others: u32,
    /// The locks that were found.
    pub locks: [Nest; NESTS],
    /// Not used.
    pub reserved: u64,
}

/// [`EventRecord::kind`]: the time in which a thread waited.
pub const EVENT_WAIT: u8 = 1;
/// [`EventRecord::kind`]: the time in which a thread held a lock.
pub const EVENT_HOLD: u8 = 2;
/// [`EventRecord::who`]: unknown, or no thread.
pub const NOBODY: u16 = u16::MAX;

/// A span of a thread's time: a wait, or a hold if [`Header::timeline`] is set. If a wait releases
/// a lock, as a condition's does, the hold ends there and another begins after the wait. The events
/// of a log are in the order in which they ended.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct EventRecord {
    /// When it began, in ticks.
    pub began: u64,
    /// When it ended, in ticks.
    pub ended: u64,
    /// Address of the lock, or of what else was waited for.
    pub lock: u64,
    /// Stack of the acquisition or the wait; 0 if there is none.
    pub stack: u32,
    /// For a wait: index of the thread that held the lock, or that woke this one; [`NOBODY`] if it
    /// is unknown, and for a hold.
    pub who: u16,
    /// The operation's code.
    pub op: u8,
    /// [`EVENT_WAIT`] or [`EVENT_HOLD`]; 0 while the rest is being written.
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
    fn a_key_gives_back_what_it_was_made_of() {
        let mut row = Row::zeroed();
        assert_eq!(row.op(), None);
        row.key = Row::key(crate::Op::SpinLock, u32::MAX);
        assert_eq!(row.op(), Some(crate::Op::SpinLock));
        assert_eq!(row.depth(), u32::MAX);
    }
}
