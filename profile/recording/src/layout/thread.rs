//! The record of a thread: its times, its current wait, and where its tables and its log are.

use bytemuck::{Pod, Zeroable};

/// [`ThreadRecord::state`]: the record was never used.
pub const THREAD_NONE: u32 = 0;
/// [`ThreadRecord::state`]: the thread runs, or ran until the process ended.
pub const THREAD_RUNNING: u32 = 1;
/// [`ThreadRecord::state`]: the thread has ended.
pub const THREAD_EXITED: u32 = 2;

/// [`ThreadRecord::creator`]: the thread already ran when the recorder was attached to its process.
/// The processor time before its first counted call is subtracted from its sums.
pub const FOUND: u32 = u32::MAX - 1;

/// The record of a thread, or of several with the same start function that used the record one
/// after the other.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct ThreadRecord {
    /// [`THREAD_NONE`], [`THREAD_RUNNING`] or [`THREAD_EXITED`].
    pub state: u32,
    /// The kernel's number of the latest thread that used this record.
    pub tid: u32,
    /// The number of threads that used this record. It is above 1 only if no unused record was left
    /// for the process, so that a thread took over the record of one that had ended.
    pub lifetimes: u32,
    /// The index of the thread that created this one, or [`FOUND`]; `u32::MAX` if that is unknown.
    pub creator: u32,
    /// The number of the stack of the call that created it.
    pub created_at: u32,
    /// The page of its process's header. 0 is the file's first page.
    pub process: u32,
    /// The address of its start function; 0 for the first thread, and for a thread whose creation
    /// was not seen.
    pub start_function: u64,
    /// When the latest thread began, in ticks.
    pub started: u64,
    /// When that thread ended, in ticks; 0 if it has not ended.
    pub ended: u64,
    /// How long the earlier threads of this record lived in all, in ticks.
    pub earlier_ticks: u64,
    /// The processor time of those threads of this record that have ended, in nanoseconds, minus
    /// the processor time that a [`FOUND`] thread had used before it was recorded. So while a
    /// [`FOUND`] thread lives, this may be negative; added to [`ThreadRecord::left_cpu_ns`], it
    /// gives the thread's processor time since then.
    pub cpu_ns: i64,
    /// When the latest thread last recorded its start, the end of a wait or of a timed hold, or its
    /// own end, in ticks.
    pub last_seen: u64,
    /// Where the table with rows of single locks is, for places with more than one lock: its unit
    /// in the low 48 bits, and log 2 of its number of rows in the high 16. 0 if there is no table
    /// yet.
    pub table: u64,
    /// The number of slots in use in both tables, including those with a note
    /// ([`NOTE`](super::NOTE)).
    pub rows: u32,
    /// The code of the operation in which the thread now waits; 0 if it does not wait.
    pub waiting_op: u32,
    /// The address of the lock or other object for which the thread now waits.
    pub waiting_lock: u64,
    /// When that wait began, in ticks.
    pub waiting_since: u64,
    /// The number of the stack of that wait.
    pub waiting_stack: u32,
    /// How often a table was made or replaced, or a row was moved from one table to the other. A
    /// reader needs this number to notice that, because a new table may be where an old one was.
    pub exchanges: u32,
    /// The thread's name, ended by a zero byte.
    pub name: [u8; 24],
    /// Where the log of [`EventRecord`](super::EventRecord)s is: its unit in the low 48 bits, and
    /// log 2 of its number of slots in the high 16. 0 if there is no log yet.
    pub log: u64,
    /// The number of events that there have been, whether or not they are in the log.
    pub logged: u64,
    /// The address of the object to which this thread last sent a signal, broadcast, futex wake or
    /// post for which a thread seemed to wait.
    pub notified: u64,
    /// When that was, in ticks.
    pub notified_at: u64,
    /// How many slots of the log were claimed. It is larger than the number of slots if some events
    /// found no free slot.
    pub log_kept: u64,
    /// Which events the log keeps: see [`crate::Windows::from_word`].
    pub log_windows: u64,
    /// Twice the number of times that the log was thinned or begun anew. It is odd while events are
    /// being moved.
    pub log_thinned: u64,
    /// For how many nanoseconds those threads of this record that have ended were ready to run but
    /// had no processor, adjusted in the same way as [`ThreadRecord::cpu_ns`]; 0 if the kernel does
    /// not report it.
    pub ready_ns: i64,
    /// The processor time of the latest thread when it was last measured, in nanoseconds.
    pub seen_cpu_ns: u64,
    /// When that was, in ticks; 0 if it was never measured.
    pub seen_cpu_at: u64,
    /// The index plus 1 of the thread that held the lock when the current wait began or, if the
    /// thread waits for the end of another, of that other thread; 0 if none was found.
    pub waiting_holder: u32,
    /// The number of the stack at which that thread had acquired the lock.
    pub waiting_holder_stack: u32,
    /// Where the table with rows of places is, in the format of [`ThreadRecord::table`].
    pub places: u64,
    /// The index plus 1 of the thread of the same process that got its record before this one; 0 if
    /// there is none.
    pub previous: u32,
    /// The [`Header::window`](super::Header::window) that its log belongs to. If it is an earlier
    /// window than the current one, the log's events are out of date.
    pub log_window: u32,
    /// The processor time of the latest thread when its process or the recording ended, in
    /// nanoseconds, if the thread still lived then; 0 if it did not, or if the time could not be
    /// measured. Written by the thread that ends the process or the recording.
    pub left_cpu_ns: u64,
    /// For how many nanoseconds the latest thread had been ready to run without a processor at that
    /// time.
    pub left_ready_ns: u64,
}
