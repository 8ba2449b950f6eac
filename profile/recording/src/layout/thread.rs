//! A thread's data, and the positions of its tables and its log.

use bytemuck::{Pod, Zeroable};

/// [`ThreadRecord::state`]: this record was never used.
pub const THREAD_NONE: u32 = 0;
/// [`ThreadRecord::state`]: the thread runs, or the process ended while it ran.
pub const THREAD_RUNNING: u32 = 1;
/// [`ThreadRecord::state`]: the thread ended.
pub const THREAD_EXITED: u32 = 2;

/// [`ThreadRecord::creator`]: the thread ran before its process was attached to, and its processor
/// time until its first counted call is subtracted from its sums.
pub const FOUND: u32 = u32::MAX - 1;

/// A thread, or several with the same start function one after the other.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ThreadRecord {
    /// [`THREAD_NONE`], [`THREAD_RUNNING`] or [`THREAD_EXITED`]
    pub state: u32,
    /// The kernel's thread number, of the latest thread that used this record.
    pub tid: u32,
    /// Threads that used this record. More than one only where the region was full and
    /// a thread took over the record of an ended one.
    pub lifetimes: u32,
    /// Index of the thread that created it; `u32::MAX` if not known, and [`FOUND`].
    pub creator: u32,
    /// Stack at its creation.
    pub created_at: u32,
    /// The page of its process's header; 0 is the file's first.
    pub process: u32,
    /// Start function; 0 for the first thread.
    pub start_function: u64,
    /// When the latest thread began, in ticks.
    pub started: u64,
    /// When it ended, in ticks; 0 if it did not.
    pub ended: u64,
    /// Ticks that earlier threads of this record lived.
    pub earlier_ticks: u64,
    /// Processor time of the threads that ended, in nanoseconds, less the earlier time of a thread
    /// that was [`FOUND`]: the sum with [`ThreadRecord::left_cpu_ns`] is the time while it was
    /// recorded.
    pub cpu_ns: i64,
    /// The latest moment at which this thread recorded something, in ticks.
    pub last_seen: u64,
    /// The table of rows of single locks, where a place has more than one: its unit in the low 48
    /// bits, log 2 of its rows in the high 16; 0 if there is none yet.
    pub table: u64,
    /// Rows in use, of both tables.
    pub rows: u32,
    /// Operation that it waits in now; 0 if it doesn't.
    pub waiting_op: u32,
    /// What it waits for now.
    pub waiting_lock: u64,
    /// Since when, in ticks.
    pub waiting_since: u64,
    /// Stack of that wait.
    pub waiting_stack: u32,
    /// How often a table was exchanged, or a row moved from one table to the other: the space of an
    /// old table may become part of a new one.
    pub exchanges: u32,
    /// Name, ended by a zero byte.
    pub name: [u8; 24],
    /// The log of [`EventRecord`](super::EventRecord)s: its unit in the low 48 bits, log 2 of its
    /// slots in the high 16; 0 if there is none yet.
    pub log: u64,
    /// The number of events so far, kept or not.
    pub logged: u64,
    /// The object with which this thread last woke others: that of its latest signal, broadcast or
    /// futex wake, or of a post for which a thread seemed to wait.
    pub notified: u64,
    /// When, in ticks.
    pub notified_at: u64,
    /// Slots of the log that are in use. It may exceed the number of slots if some events found no
    /// slot.
    pub log_kept: u64,
    /// Which events are kept: see [`crate::Windows::from_word`].
    pub log_windows: u64,
    /// How often the log was thinned, twice: odd while its events are moved.
    pub log_thinned: u64,
    /// Nanoseconds that the threads that ended were ready to run and had no processor, as
    /// [`ThreadRecord::cpu_ns`]; 0 where the kernel doesn't say.
    pub ready_ns: i64,
    /// Processor time of the latest thread when that was last measured, in nanoseconds.
    pub seen_cpu_ns: u64,
    /// When that was, in ticks; 0 if never.
    pub seen_cpu_at: u64,
    /// The holder of what it waits for now, when it began to wait: the thread's index and 1; 0 if
    /// none was found.
    pub waiting_holder: u32,
    /// Stack at which that thread had acquired it.
    pub waiting_holder_stack: u32,
    /// The table of rows of places, as [`ThreadRecord::table`].
    pub places: u64,
    /// The thread of the same process that had its record before: its index and 1; 0 if there is none.
    pub previous: u32,
    /// The [`Header::window`](super::Header::window) that its log is of: events of earlier ones are forgotten.
    pub log_window: u32,
    /// Processor time of the latest thread when its process ended, in nanoseconds, if the thread still
    /// lived then; 0 if it did not, or could not be measured. The thread that ends the process
    /// writes it.
    pub left_cpu_ns: u64,
    /// Nanoseconds that it was ready to run and had no processor, by then.
    pub left_ready_ns: u64,
}
