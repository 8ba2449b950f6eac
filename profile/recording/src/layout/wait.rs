//! The waits of a row, by length and by the thread in the way, and other counters that are too rare
//! for the row.

use bytemuck::{Pod, Zeroable};

/// The number of buckets of [`WaitRecord::histogram`].
pub const BUCKETS: usize = 32;
/// Log 2 of the ticks below which a wait is in the first bucket. The limit of each further bucket
/// is twice that of the one before; the last has no upper limit.
pub const FIRST_BUCKET_LOG2: u32 = 7;
/// The number of holders' stacks that a wait record distinguishes.
pub const BLOCKERS: usize = 8;

/// The bucket that a wait of this many ticks belongs to.
pub fn bucket(ticks: u64) -> usize {
    let bits = u64::BITS - ticks.leading_zeros();
    (bits.saturating_sub(FIRST_BUCKET_LOG2) as usize).min(BUCKETS - 1)
}

/// The threads that others waited for, and that had acquired the lock with the same stack.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Blocker {
    /// Stack at which the holders had acquired the lock; 0 while this slot is free.
    pub stack: u32,
    /// Index of the thread that held the lock at the latest of these waits.
    pub thread: u32,
    /// Waits for these holders.
    pub waits: u64,
    /// Ticks of those waits.
    pub ticks: u64,
}

/// The waits of a row, if it has any, and other counters that are too rare to keep in the row.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct WaitRecord {
    /// Calls that had to wait, whether or not they got what they waited for.
    pub waits: u64,
    /// Ticks waited.
    pub ticks: u64,
    /// The longest wait.
    pub max: u64,
    /// Waits that ended because their time ran out.
    pub timeouts: u64,
    /// Try operations that were refused.
    pub refused: u64,
    /// Ticks held after the acquisitions that had waited; all of these are timed.
    pub held_ticks: u64,
    /// The longest of these holds.
    pub held_max: u64,
    /// How many of these holds there are.
    pub held_samples: u64,
    /// Waits for a condition that were futile: they did not time out, and the thread waited for the
    /// condition again within 50 microseconds, without releasing the lock or waking a thread in
    /// between. So the woken thread had found nothing to do.
    pub futile: u64,
    /// How many holds were measured for the next four fields: those after waits of more than 50
    /// microseconds, one in eight of those after shorter waits, and, if the row's holds take more
    /// than 10 microseconds on average, timed ones that had not waited.
    pub held_looked_at: u64,
    /// Ticks of those holds, less the waits in which the lock was released.
    pub held_looked_at_ticks: u64,
    /// Those of these ticks in which the holder was not on a processor.
    pub held_off_cpu_ticks: u64,
    /// How often the holder gave its processor up in those holds: it slept, or waited for a device
    /// or for another lock.
    pub held_slept: u32,
    /// How often the holder was preempted in those holds.
    pub held_preempted: u32,
    /// Ticks that the recorder itself took while the lock was held after a wait: it counts between
    /// the end of the wait and the return into the program, and again before the release. They are
    /// not part of any time held, but other threads waited for them.
    pub own_ticks: u64,
    /// Ticks between refused tries, or between polls, that the thread made within 5 microseconds of
    /// each other: it did nothing else.
    pub spun_ticks: u64,
    /// When the last try was refused.
    pub refused_at: u64,
    /// Waits by length; see [`bucket`].
    pub histogram: [u32; BUCKETS],
    /// The holders that were waited for, by stack. Waits for further stacks are in none.
    pub blockers: [Blocker; BLOCKERS],
}
