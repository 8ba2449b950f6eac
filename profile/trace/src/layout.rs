//! The file of one process, field by field.
//!
//! ```text
//! 0          Header, one page
//! ...        two regions of records of a fixed size, each filled from its start:
//!              modules   ModuleRecord   the files that were mapped, as in a recording
//!              threads   ThreadRecord   one for each thread
//! ...        the arena: chunks of a multiple of 64 KiB, handed out from its start
//!
//! chunk      ChunkHeader, then records one after the other:
//!              RecordHeader   kind and length
//!              SectionRecord  + objects, words, steps, system calls, each an array, in the
//!                             form of `packed`
//!              CountRecord
//!              StackRecord    + the words of a part of a stack
//! ```
//!
//! Numbers are in the machine's own byte order, times in ticks of [`Header::clock`].
//!
//! A module's record counts if it has a start, and a thread's if it has a number
//! ([`ThreadRecord::tid`]). These words are stored last.
//!
//! A chunk has records of one thread, and only one [`Writer`](crate::writer::Writer) writes to it.
//! A record counts if [`ChunkHeader::used`] covers it. That word is stored last, so a record is
//! either whole or absent. A chunk that was claimed and never used is zero, and is passed over.

use bytemuck::{Pod, Zeroable};
use syncline_recording::Op;
use syncline_recording::layout::Region;

/// The first eight bytes of a file.
pub const MAGIC: [u8; 8] = *b"SYNTRACE";
/// The version of this layout. A reader rejects any other.
pub const VERSION: u32 = 4;
/// Bytes from the start of the file to the first region.
pub const HEADER_SIZE: usize = 4096;
/// Chunks begin at multiples of this many bytes in the arena, and their sizes are multiples of it.
pub const CHUNK: u64 = 64 << 10;
/// [`ChunkHeader::magic`]
pub const CHUNK_MAGIC: u32 = 0x4b4e_4843;
/// The index of a thread or object that is unknown.
pub const NONE: u32 = u32::MAX;

/// The first page.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], stored last when the file is made.
    pub magic: [u8; 8],
    /// [`VERSION`]
    pub version: u32,
    /// [`syncline_recording::layout::BYTE_ORDER`]
    pub byte_order: u32,
    /// The ELF machine number of the process, such as 62 for x86-64.
    pub machine: u32,
    /// The clock's code, as in a recording: the time stamp counter, or `CLOCK_MONOTONIC`.
    pub clock: u32,
    /// Ticks of the clock in a second.
    pub ticks_per_second: u64,
    /// When tracing began, in ticks.
    pub started: u64,
    /// When tracing began, in nanoseconds since 1970.
    pub started_realtime: u64,
    /// When the process noted its end, in ticks; 0 if it did not.
    pub ended: u64,
    /// Process number.
    pub pid: u32,
    /// Process number of the parent when tracing began.
    pub parent: u32,
    /// The most bytes that the file may have.
    pub file_size: u64,
    /// [`syncline_recording::layout::ModuleRecord`]s
    pub modules: Region,
    /// [`ThreadRecord`]s
    pub threads: Region,
    /// The offset of the arena in the file, in bytes.
    pub arena_offset: u64,
    /// Bytes of the arena that were handed out, from its start.
    pub arena_used: u64,
    /// Bytes that the arena can hand out.
    pub arena_capacity: u64,
    /// The number of records that were dropped because there was no room.
    pub dropped: u64,
    /// The most that tracing was allowed to add to the program's time, in thousandths; 0 for no
    /// limit.
    pub budget_permille: u32,
    /// 1 if the file system had no room left.
    pub disk_full: u32,
    /// Ticks that tracing cost so far, over all threads.
    pub cost_ticks: u64,
    /// The estimated ticks that inspecting cost otherwise: for its start, for threads, and for
    /// acquisitions and allocations that it only counted.
    pub besides_ticks: u64,
    /// The processor time of the process, these costs included, in ticks: at its end, or when the
    /// time was last read.
    pub processor_ticks: u64,
    /// Why the program was left alone, ended by a zero byte; empty if it was not.
    pub left_alone: [u8; 256],
    /// Path of the executable, ended by a zero byte.
    pub executable: [u8; 1024],
    /// Arguments, each ended by a zero byte, cut off at the end of this field.
    pub arguments: [u8; 2048],
    /// 1 if only some call sites and locks were to be traced. This field and those below are 0 in
    /// traces that were made before the fields existed.
    pub only_some: u32,
    /// Not used.
    pub reserved: u32,
    /// When [`Header::processor_ticks`] was stored, in ticks.
    pub alive: u64,
}

/// A thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ThreadRecord {
    /// The kernel's thread number; 0 while this record is not filled in.
    pub tid: u32,
    /// Not used.
    pub reserved: u32,
    /// Lowest address of its stack.
    pub stack_low: u64,
    /// One past the highest address of its stack.
    pub stack_high: u64,
    /// When it was first seen, in ticks.
    pub started: u64,
    /// When it ended, in ticks; 0 if it was not seen to end.
    pub ended: u64,
    /// Name, ended by a zero byte.
    pub name: [u8; 24],
}

/// The start of a chunk.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`]; 0 if the chunk was never used.
    pub magic: u32,
    /// Index of the thread that writes to it.
    pub thread: u32,
    /// Bytes of the chunk, including this header.
    pub size: u64,
    /// Bytes of this header and the whole records behind it.
    pub used: u64,
}

/// [`RecordHeader::kind`]: a [`SectionRecord`] and its arrays, [`packed`](crate::packed).
pub const RECORD_SECTION: u32 = 1;
/// [`RecordHeader::kind`]: a [`CountRecord`].
pub const RECORD_COUNT: u32 = 2;
/// [`RecordHeader::kind`]: a [`StackRecord`] and the words behind it.
pub const RECORD_STACK: u32 = 3;
/// This many acquisitions of a thread at a call site are counted one by one even with a budget;
/// after that, a sample of them is counted.
pub const COUNTED_ONE_BY_ONE: u64 = 1 << 14;

/// The header of each record.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct RecordHeader {
    /// [`RECORD_SECTION`], [`RECORD_COUNT`] or [`RECORD_STACK`]; a reader passes over records of
    /// other kinds.
    pub kind: u32,
    /// Bytes of the record including this header; a multiple of 8.
    pub length: u32,
}

/// [`SectionRecord::flags`]: the acquisition had to wait.
pub const WAITED: u32 = 1 << 0;
/// [`SectionRecord::flags`]: acquired for reading; other threads may hold the lock at the same
/// time.
pub const SHARED: u32 = 1 << 1;
/// [`SectionRecord::flags`]: a signal handler of the program interrupted the section.
pub const HANDLER: u32 = 1 << 2;
/// [`SectionRecord::flags`]: begins at the end of a wait for a condition.
pub const AFTER_WAIT: u32 = 1 << 3;
/// [`SectionRecord::flags`]: ends at the beginning of a wait for a condition.
pub const BEFORE_WAIT: u32 = 1 << 4;
/// [`SectionRecord::flags`]: released by another thread than the one that acquired.
pub const RELEASED_BY_OTHER: u32 = 1 << 5;
/// [`SectionRecord::flags`]: traced as one of the first of its call site, so not with the same
/// probability as others.
pub const EARLY: u32 = 1 << 6;
/// [`SectionRecord::flags`]: the section accessed a device, through a port or through memory.
pub const IO: u32 = 1 << 7;

/// Encodes an operation on a lock of this many bytes: the lowest byte is the operation's code, the
/// higher ones are the size. The size is 0 for locks of the C library, whose sizes are known.
pub fn lock_op(op: Op, bytes: u32) -> u32 {
    op as u32 | bytes << 8
}

/// [`SectionRecord::stopped`]: the section was traced to its end.
pub const STOP_NONE: u32 = 0;
/// [`SectionRecord::stopped`]: tracing stopped at a fork.
pub const STOP_FORK: u32 = 1;
/// [`SectionRecord::stopped`]: tracing stopped at a jump out of the section (`longjmp`, an
/// exception).
pub const STOP_JUMP: u32 = 2;
/// [`SectionRecord::stopped`]: the limit on instructions or on the address set was reached.
pub const STOP_LIMIT: u32 = 3;
/// [`SectionRecord::stopped`]: tracing stopped when a thread was created.
pub const STOP_CLONE: u32 = 4;
/// [`SectionRecord::stopped`]: tracing stopped at an instruction that is not understood.
pub const STOP_UNKNOWN: u32 = 5;
/// [`SectionRecord::stopped`]: tracing stopped for another reason.
pub const STOP_OTHER: u32 = 6;

/// One execution of a critical section. It begins with an acquisition or after a wait for a
/// condition, and ends with the release or before such a wait. The record's arrays follow it, in
/// the order of their counts.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct SectionRecord {
    /// Address of the lock.
    pub lock: u64,
    /// Return address of the acquiring call.
    pub site: u64,
    /// When the lock was acquired, in ticks.
    pub acquired: u64,
    /// When the lock was released, in ticks.
    pub released: u64,
    /// Ticks that it waited for the lock.
    pub waited: u64,
    /// Orders the sections of one lock: the section with the greater number acquired the lock
    /// later. Numbers may be missing, since not every section is traced.
    pub order: u64,
    /// The lock of the section that this section is nested in; 0 if there is none.
    pub outer: u64,
    /// The number of this lock among the successive locks at this address: it changes when the
    /// memory is freed and reused, or when the lock is initialised again. 0 if it is unknown.
    pub incarnation: u64,
    /// The index of the thread that held the lock when this thread had to wait; [`NONE`] if it did
    /// not wait, or if the holder is unknown.
    pub holder: u32,
    /// Flags such as [`WAITED`].
    pub flags: u32,
    /// Why tracing stopped, such as [`STOP_LIMIT`], or [`STOP_NONE`]. After a stop, the rest of the
    /// section ran untraced.
    pub stopped: u32,
    /// Code of the acquiring [`syncline_recording::Op`], and the lock's size, as [`lock_op`] has them.
    pub op: u32,
    /// The number of instructions executed.
    pub instructions: u64,
    /// How many of those accessed memory.
    pub memory_instructions: u64,
    /// Blocks of memory allocated.
    pub allocations: u32,
    /// Blocks of memory freed.
    pub frees: u32,
    /// Elements of the array of [`ObjectRecord`].
    pub objects: u32,
    /// Elements of the array of [`WordRecord`].
    pub words: u32,
    /// Elements of the array of [`StepRecord`]. (In the file, an instruction may occur more than
    /// once.)
    pub steps: u32,
    /// Elements of the array of [`SystemCallRecord`].
    pub system_calls: u32,
}

/// A block of the heap that a section touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct ObjectRecord {
    /// Its first address.
    pub start: u64,
    /// The requested size in bytes.
    pub size: u64,
    /// Return address of the allocating call.
    pub site: u64,
    /// The number of this block among the successive blocks at this address: a block at a freed and
    /// reused address is another object.
    pub serial: u64,
}

/// [`WordRecord::flags`]: an instruction that is not atomic wrote to it, or the kernel did.
pub const PLAINLY_WRITTEN: u16 = 1;
/// [`WordRecord::flags`]: an instruction read it other than to jump to, or call, the address in it.
pub const PLAINLY_READ: u16 = 2;

/// Eight bytes of memory that a section touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WordRecord {
    /// Its address; a multiple of 8.
    pub address: u64,
    /// An instruction that read it; 0 if none did.
    pub reader: u64,
    /// An instruction that wrote it; 0 if none did.
    pub writer: u64,
    /// The index in the array of objects; [`NONE`] if the word lies in no known block.
    pub object: u32,
    /// Bytes that were read, one bit each; the lowest address is bit 0.
    pub read: u8,
    /// Bytes that were written, in the same form.
    pub written: u8,
    /// [`PLAINLY_WRITTEN`] and [`PLAINLY_READ`]
    pub flags: u16,
}

/// An instruction that a section executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct StepRecord {
    /// Its address.
    pub address: u64,
    /// The lowest address that it accessed outside of the thread's stack; `u64::MAX` if `accesses`
    /// is 0.
    pub low: u64,
    /// The address of the last byte that it accessed outside of the thread's stack; 0 if `accesses`
    /// is 0.
    pub high: u64,
    /// How often it was executed.
    pub times: u32,
    /// In how many of these executions it accessed memory outside of the thread's stack.
    pub accesses: u32,
}

/// A system call in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SystemCallRecord {
    /// Its number on x86-64.
    pub number: u32,
    /// How often it was made.
    pub times: u32,
}

/// Acquisitions by one thread of one lock at one call site, traced or not. Several records of one
/// lock and site are to be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CountRecord {
    /// Address of the lock.
    pub lock: u64,
    /// Return address of the acquiring call.
    pub site: u64,
    /// The number of acquisitions. With a budget, those of a thread at a site beyond
    /// [`COUNTED_ONE_BY_ONE`] are estimated.
    pub acquisitions: u64,
    /// How many of those had to wait.
    pub contended: u64,
    /// How many of those were traced.
    pub traced: u64,
    /// The ticks that all acquisitions waited.
    pub waited_ticks: u64,
    /// The sum of the holds that were timed and not traced, in ticks.
    pub held_ticks: u64,
    /// The number of holds that were timed and not traced.
    pub held_samples: u64,
    /// Code of the acquiring [`syncline_recording::Op`], and the lock's size, as [`lock_op`] has them.
    pub op: u32,
    /// Not used.
    pub reserved: u32,
}

/// A part of memory around a word that a section wrote to, and that belongs to no variable, no heap
/// block, and not to the stack of the section's thread. It may be part of another thread's stack,
/// whose frames are found by the return addresses in it. The words follow the record, eight bytes
/// each, as they were after the section; zeros if no memory was mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct StackRecord {
    /// The first address.
    pub start: u64,
    /// The word that was written to.
    pub written: u64,
}

const _: () = {
    assert!(size_of::<Header>() <= HEADER_SIZE);
    assert!(size_of::<ThreadRecord>() == 64);
    assert!(size_of::<ChunkHeader>() == 24);
    assert!(size_of::<SectionRecord>() == 120);
    assert!(size_of::<ObjectRecord>() == 32);
    assert!(size_of::<WordRecord>() == 32);
    assert!(size_of::<StepRecord>() == 32);
    assert!(size_of::<SystemCallRecord>() == 8);
    assert!(size_of::<CountRecord>() == 72);
};
