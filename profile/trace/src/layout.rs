//! The format of the file of a process, field by field.
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
//!              StackRecord    + the words of this part of a stack
//! ```
//!
//! Numbers are in the machine's own byte order. Times are in ticks of [`Header::clock`].
//!
//! A module's record counts if it has a start, and a thread's if it has a number
//! ([`ThreadRecord::tid`]). These words are stored last.
//!
//! A chunk has records of one thread, and only one [`Writer`](crate::writer::Writer) writes to it.
//! A record counts only if it lies within [`ChunkHeader::used`]. That word is stored after the
//! record, so a record is either complete or absent. A chunk that was claimed but never used is
//! zero, and readers pass over it.

use bytemuck::{Pod, Zeroable};
use syncline_recording::Op;
use syncline_recording::layout::Region;

/// The first eight bytes of a file.
pub const MAGIC: [u8; 8] = *b"SYNTRACE";
/// The version of this format. A reader refuses files of any other version.
pub const VERSION: u32 = 4;
/// The number of bytes from the start of the file to the first region.
pub const HEADER_SIZE: usize = 4096;
/// The positions of chunks in the arena and their sizes are multiples of this many bytes.
pub const CHUNK: u64 = 64 << 10;
/// The value of [`ChunkHeader::magic`].
pub const CHUNK_MAGIC: u32 = 0x4b4e_4843;
/// In place of the index of a thread or object: it is unknown.
pub const NONE: u32 = u32::MAX;

/// The header of the file, which has a page.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], which is stored last when the file is made.
    pub magic: [u8; 8],
    /// [`VERSION`]
    pub version: u32,
    /// [`syncline_recording::layout::BYTE_ORDER`]
    pub byte_order: u32,
    /// The process's machine type as in an ELF file, such as 62 for x86-64.
    pub machine: u32,
    /// The clock's code, as in a recording: the time stamp counter, or `CLOCK_MONOTONIC`.
    pub clock: u32,
    /// The number of the clock's ticks in a second.
    pub ticks_per_second: u64,
    /// When tracing began, in ticks.
    pub started: u64,
    /// When tracing began, in nanoseconds since 1970.
    pub started_realtime: u64,
    /// When the process noted its end, in ticks; 0 if it did not.
    pub ended: u64,
    /// The process's number.
    pub pid: u32,
    /// The process number of the parent at the time when tracing began.
    pub parent: u32,
    /// The most bytes that the file may have.
    pub file_size: u64,
    /// The [`syncline_recording::layout::ModuleRecord`]s.
    pub modules: Region,
    /// The [`ThreadRecord`]s.
    pub threads: Region,
    /// The offset of the arena in the file, in bytes.
    pub arena_offset: u64,
    /// How many bytes of the arena have been handed out, from its start on.
    pub arena_used: u64,
    /// The size of the arena in bytes.
    pub arena_capacity: u64,
    /// The number of records that were dropped because there was no room.
    pub dropped: u64,
    /// The budget: the largest share of the program's time that tracing was allowed to cost, in
    /// thousandths; 0 means no limit.
    pub budget_permille: u32,
    /// 1 if the file system has run out of room.
    pub disk_full: u32,
    /// How many ticks tracing has cost in all threads.
    pub cost_ticks: u64,
    /// How many ticks (estimated) inspecting has cost otherwise: for its start, for threads that
    /// begin, and for acquisitions and allocations that were only counted.
    pub besides_ticks: u64,
    /// The processor time of the process, including these costs, in ticks. This time was read at
    /// the process's end, or at [`Header::alive`] if there is no end.
    pub processor_ticks: u64,
    /// Why the program was left alone, ended by a zero byte; empty if it was not left alone.
    pub left_alone: [u8; 256],
    /// The path of the executable, ended by a zero byte.
    pub executable: [u8; 1024],
    /// The arguments, each ended by a zero byte. Text that does not fit is cut off.
    pub arguments: [u8; 2048],
    /// 1 if only some call sites and locks were to be traced. (This field and those below are 0 in
    /// traces that are older than the fields.)
    pub only_some: u32,
    /// Not used.
    pub reserved: u32,
    /// When [`Header::processor_ticks`] was stored, in ticks.
    pub alive: u64,
}

/// The record of a thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ThreadRecord {
    /// The kernel's number of the thread; 0 while this record is not filled in.
    pub tid: u32,
    /// Not used.
    pub reserved: u32,
    /// The lowest address of its stack.
    pub stack_low: u64,
    /// One past the highest address of its stack.
    pub stack_high: u64,
    /// When it was first seen, in ticks.
    pub started: u64,
    /// When it ended, in ticks; 0 if its end was not seen.
    pub ended: u64,
    /// Its name, ended by a zero byte.
    pub name: [u8; 24],
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`]; 0 if the chunk was never used.
    pub magic: u32,
    /// The index of the thread that writes to the chunk.
    pub thread: u32,
    /// The size of the chunk in bytes, including this header.
    pub size: u64,
    /// The number of bytes of this header together with the complete records after it.
    pub used: u64,
}

/// [`RecordHeader::kind`]: a [`SectionRecord`] and its arrays, in the form of
/// [`packed`](crate::packed).
pub const RECORD_SECTION: u32 = 1;
/// [`RecordHeader::kind`]: a [`CountRecord`].
pub const RECORD_COUNT: u32 = 2;
/// [`RecordHeader::kind`]: a [`StackRecord`] and the words after it.
pub const RECORD_STACK: u32 = 3;
/// This many acquisitions of a thread at a call site are counted one by one even if there is a
/// budget. After that, only a sample of them is counted.
pub const COUNTED_ONE_BY_ONE: u64 = 1 << 14;

/// The header of each record.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct RecordHeader {
    /// [`RECORD_SECTION`], [`RECORD_COUNT`] or [`RECORD_STACK`]. A reader passes over records of
    /// other kinds.
    pub kind: u32,
    /// The length of the record in bytes, including this header; a multiple of 8.
    pub length: u32,
}

/// [`SectionRecord::flags`]: the acquisition had to wait.
pub const WAITED: u32 = 1 << 0;
/// [`SectionRecord::flags`]: the lock was acquired for reading, so other threads may hold it at the
/// same time.
pub const SHARED: u32 = 1 << 1;
/// [`SectionRecord::flags`]: a signal handler of the program interrupted the section and used a
/// lock.
pub const HANDLER: u32 = 1 << 2;
/// [`SectionRecord::flags`]: the section begins at the end of a wait for a condition.
pub const AFTER_WAIT: u32 = 1 << 3;
/// [`SectionRecord::flags`]: the section ends at the beginning of a wait for a condition.
pub const BEFORE_WAIT: u32 = 1 << 4;
/// [`SectionRecord::flags`]: one thread acquired the lock, and another released it.
pub const RELEASED_BY_OTHER: u32 = 1 << 5;
/// [`SectionRecord::flags`]: the section was traced because it was one of the first of its call
/// site, so it was not drawn at random like others.
pub const EARLY: u32 = 1 << 6;
/// [`SectionRecord::flags`]: the section accessed a device, through a port or through memory.
pub const IO: u32 = 1 << 7;

/// Combines an operation and the size of its lock in bytes: the lowest byte is the operation's
/// code, the higher ones are the size. The size is 0 for locks of the C library, whose sizes are
/// known.
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
/// [`SectionRecord::stopped`]: tracing stopped at the limit on instructions or on the address set.
pub const STOP_LIMIT: u32 = 3;
/// [`SectionRecord::stopped`]: tracing stopped when a thread was created.
pub const STOP_CLONE: u32 = 4;
/// [`SectionRecord::stopped`]: tracing stopped at an instruction that the tracer does not know.
pub const STOP_UNKNOWN: u32 = 5;
/// [`SectionRecord::stopped`]: tracing stopped for another reason.
pub const STOP_OTHER: u32 = 6;

/// One execution of a critical section. It begins with an acquisition or after a wait for a
/// condition, and ends with the release or before such a wait. The record is followed by four
/// arrays, in the order of the fields with their lengths.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct SectionRecord {
    /// The address of the lock.
    pub lock: u64,
    /// The return address of the acquiring call.
    pub site: u64,
    /// When the lock was acquired, in ticks.
    pub acquired: u64,
    /// When the lock was released, in ticks.
    pub released: u64,
    /// How long the thread waited for the lock, in ticks.
    pub waited: u64,
    /// A number by which the sections of one lock can be ordered: of two sections, the one with the
    /// greater number acquired the lock later. Numbers may be missing, since not every section is
    /// traced.
    pub order: u64,
    /// The address of the lock in whose section this section is nested; 0 if there is none.
    pub outer: u64,
    /// Which of the successive locks at this address it is: a number that changes when the memory
    /// is freed and reused. 0 if that is unknown.
    pub incarnation: u64,
    /// The index of the thread that held the lock when this thread had to wait; [`NONE`] if this
    /// thread did not wait, or if the holder is unknown.
    pub holder: u32,
    /// A combination of flags such as [`WAITED`].
    pub flags: u32,
    /// Why tracing stopped before the section's end, such as [`STOP_LIMIT`]; [`STOP_NONE`] if it
    /// did not. After a stop, the rest of the section ran untraced.
    pub stopped: u32,
    /// The code of the acquiring [`syncline_recording::Op`] and the lock's size, combined by
    /// [`lock_op`].
    pub op: u32,
    /// The number of instructions that were executed.
    pub instructions: u64,
    /// How many of those instructions accessed memory.
    pub memory_instructions: u64,
    /// How many blocks of memory were allocated.
    pub allocations: u32,
    /// How many blocks of memory were freed.
    pub frees: u32,
    /// The length of the array of [`ObjectRecord`]s.
    pub objects: u32,
    /// The length of the array of [`WordRecord`]s.
    pub words: u32,
    /// The length of the array of [`StepRecord`]s. (In the file, an instruction may occur in it
    /// more than once.)
    pub steps: u32,
    /// The length of the array of [`SystemCallRecord`]s.
    pub system_calls: u32,
}

/// A block of the heap that a section touched, or that contains its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct ObjectRecord {
    /// The first address of the block.
    pub start: u64,
    /// The requested size in bytes.
    pub size: u64,
    /// The return address of the allocating call.
    pub site: u64,
    /// Which of the successive blocks at this address it is: a serial number, since a block whose
    /// memory was freed and reused is another object.
    pub serial: u64,
}

/// [`WordRecord::flags`]: an instruction that is not atomic wrote to the word, or the kernel did.
pub const PLAINLY_WRITTEN: u16 = 1;
/// [`WordRecord::flags`]: an instruction read the word for another purpose than to jump to the
/// address in it, or to call that address.
pub const PLAINLY_READ: u16 = 2;

/// Eight bytes of memory that a section touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WordRecord {
    /// The word's address, a multiple of 8.
    pub address: u64,
    /// The address of an instruction that read the word; 0 if none did.
    pub reader: u64,
    /// The address of an instruction that wrote the word; 0 if none did.
    pub writer: u64,
    /// The index, in the array of objects, of the block that contains the word; [`NONE`] if the
    /// word lies in no known block.
    pub object: u32,
    /// The bytes of the word that were read, one bit each. Bit 0 stands for the lowest address.
    pub read: u8,
    /// The bytes of the word that were written, in the same form.
    pub written: u8,
    /// The flags [`PLAINLY_WRITTEN`] and [`PLAINLY_READ`].
    pub flags: u16,
}

/// An instruction that a section executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct StepRecord {
    /// The instruction's address.
    pub address: u64,
    /// The lowest address outside of the thread's stack that it accessed; `u64::MAX` if `accesses`
    /// is 0.
    pub low: u64,
    /// The address of the highest byte outside of the thread's stack that it accessed; 0 if
    /// `accesses` is 0.
    pub high: u64,
    /// How often it was executed.
    pub times: u32,
    /// In how many of these executions it accessed memory outside of the thread's stack.
    pub accesses: u32,
}

/// A system call that a section made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SystemCallRecord {
    /// Its number on x86-64.
    pub number: u32,
    /// How often it was made.
    pub times: u32,
}

/// The acquisitions of one lock by one thread at one call site, whether or not they were traced.
/// Several records of the same lock, thread and call site have to be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CountRecord {
    /// The address of the lock.
    pub lock: u64,
    /// The return address of the acquiring call.
    pub site: u64,
    /// The number of acquisitions. If there is a budget, this is an estimate for a thread that has
    /// made more than [`COUNTED_ONE_BY_ONE`] acquisitions at the call site.
    pub acquisitions: u64,
    /// How many of those acquisitions had to wait.
    pub contended: u64,
    /// How many of those acquisitions were traced.
    pub traced: u64,
    /// How long all these acquisitions waited together, in ticks.
    pub waited_ticks: u64,
    /// The sum of the holds that were timed and not traced, in ticks.
    pub held_ticks: u64,
    /// The number of holds that were timed and not traced.
    pub held_samples: u64,
    /// The code of the acquiring [`syncline_recording::Op`] and the lock's size, combined by
    /// [`lock_op`].
    pub op: u32,
    /// Not used.
    pub reserved: u32,
}

/// The memory around a word that a section wrote, if the word belongs to no variable, to no heap
/// block, and not to the stack of the section's thread. It may be a part of another thread's stack,
/// whose frames can be found by the return addresses in it. The words of the memory follow the
/// record, eight bytes each, as they were after the section; they are zero where no memory was
/// mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct StackRecord {
    /// The first address of this memory.
    pub start: u64,
    /// The address of the word that was written.
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
