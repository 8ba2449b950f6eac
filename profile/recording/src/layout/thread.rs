//! A thread's record: its times, its current wait, and the positions of its tables and its log.

use bytemuck::{Pod, Zeroable};

/// [`ThreadRecord::state`]: this record was never used.
pub const THREAD_NONE: u32 = 0;
/// [`ThreadRecord::state`]: the thread runs, or the process ended while it ran.
pub const THREAD_RUNNING: u32 = 1;
/// [`ThreadRecord::state`]: the thread ended.
pub const THREAD_EXITED: u32 = 2;

/// [`ThreadRecord::creator`]: the thread already ran when its process was attached to. Its
/// processor time before its first counted call is subtracted from its sums.
pub const FOUND: u32 = u32::MAX - 1;

/// A thread, or several that used the record one after the other and have the same start function.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ThreadRecord {
    /// [`THREAD_NONE`], [`THREAD_RUNNING`] or [`THREAD_EXITED`]
    pub state: u32,
    /// The kernel's thread number, of the latest thread that used this record.
    pub tid: u32,
    /// Threads that used this record. Above 1 only if no fresh record was left for the process, and
    /// a thread took over the record of one that had ended.
    pub lifetimes: u32,
    /// Index of the thread that created it; `u32::MAX` if unknown, or [`FOUND`].
    pub creator: u32,
    /// Stack of the call that created it.
    pub created_at: u32,
    /// The page of its process's header; 0 is the file's first page.
    pub process: u32,
    /// Start function; 0 for the first thread, and for a thread whose creation was not seen.
    pub start_function: u64,
    /// When the latest thread began, in ticks.
    pub started: u64,
    /// When that thread ended, in ticks; 0 if it has not.
    pub ended: u64,
    /// Ticks that the earlier threads of this record lived, in all.
    pub earlier_ticks: u64,
    /// Processor time of those of its threads that have ended, in nanoseconds, less the processor
    /// time that a [`FOUND`] thread had used before. While that thread lives, this may be
    /// negative, and the sum with [`ThreadRecord::left_cpu_ns`] is its time while it was recorded.
    pub cpu_ns: i64,
    /// When this thread last recorded the end of a wait or of a timed hold, or its own end, in
    /// ticks.
    pub last_seen: u64,
    /// The table of rows of single locks, for places with more than one lock: its unit in the low
    /// 48 bits, log 2 of its rows in the high 16; 0 if there is none yet.
    pub table: u64,
    /// Rows in use, in both tables.
    pub rows: u32,
    /// Code of the operation in which it now waits; 0 if it doesn't.
    pub waiting_op: u32,
    /// Address of the lock or other object that it now waits for.
    pub waiting_lock: u64,
    /// When that wait began, in ticks.
    pub waiting_since: u64,
    /// Stack of that wait.
    pub waiting_stack: u32,
    /// How often a table was made or replaced, or a row was moved from one table to the other. The
    /// space of an old table may become part of a new one.
    pub exchanges: u32,
    /// Name, ended by a zero byte.
    pub name: [u8; 24],
    /// The log of [`EventRecord`](super::EventRecord)s: its unit in the low 48 bits, log 2 of its
    /// slots in the high 16; 0 if there is none yet.
    pub log: u64,
    /// The number of events so far, kept or not.
    pub logged: u64,
    /// The object of this thread's latest signal, broadcast, futex wake or post for which a thread
    /// seemed to wait.
    pub notified: u64,
    /// When that was, in ticks.
    pub notified_at: u64,
    /// Slots of the log that were claimed. More than there are if some events found no free slot.
    pub log_kept: u64,
    /// Which events are kept: see [`crate::Windows::from_word`].
    pub log_windows: u64,
    /// Twice the number of times that the log was thinned or begun anew: odd while its events are
    /// moved.
    pub log_thinned: u64,
    /// Nanoseconds for which those of its threads that have ended were ready to run without a
    /// processor, adjusted like [`ThreadRecord::cpu_ns`]; 0 if the kernel doesn't say.
    pub ready_ns: i64,
    /// Processor time of the latest thread when it was last measured, in nanoseconds.
    pub seen_cpu_ns: u64,
    /// When that was, in ticks; 0 if it was never measured.
    pub seen_cpu_at: u64,
    /// The thread that held the lock when the current wait began: its index plus 1; 0 if none was
    /// found.
    pub waiting_holder: u32,
    /// Stack at which that thread had acquired the lock.
    pub waiting_holder_stack: u32,
    /// The table of rows of places, in the format of [`ThreadRecord::table`].
    pub places: u64,
    /// The thread of the same process that got its record before this one: its index plus 1; 0 if
    /// there is none.
    pub previous: u32,
    /// The [`Header::window`](super::Header::window) that its log belongs to. Events of an earlier
    /// window are dropped.
    pub log_window: u32,
    /// Processor time of the latest thread when its process or the recording ended, in nanoseconds,
    /// if the thread still lived then; 0 if it did not, or if the time could not be measured. The
    /// thread that ends the process or the recording writes it.
    pub left_cpu_ns: u64,
    /// Nanoseconds for which the latest thread had been ready to run without a processor, at that
    /// time.
    pub left_ready_ns: u64,
}
