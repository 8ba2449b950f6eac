//! The waits of a row, by length and by the holder of the lock, and other counters that few rows
//! need.

use bytemuck::{Pod, Zeroable};

/// The number of buckets of [`WaitRecord::histogram`].
pub const BUCKETS: usize = 32;
/// Log 2 of the ticks below which a wait belongs to the first bucket. The limit of each further
/// bucket is twice that of the one before. The last bucket has no upper limit.
pub const FIRST_BUCKET_LOG2: u32 = 7;
/// The number of holders' stacks that a wait record distinguishes.
pub const BLOCKERS: usize = 8;

/// The index of the bucket to which a wait of this many ticks belongs.
pub fn bucket(ticks: u64) -> usize {
    let bits = u64::BITS - ticks.leading_zeros();
    (bits.saturating_sub(FIRST_BUCKET_LOG2) as usize).min(BUCKETS - 1)
}

/// The waits for those holders of the lock that had acquired it with the same stack.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Blocker {
    /// The number of the stack at which the holders had acquired the lock; 0 while this slot is
    /// free.
    pub stack: u32,
    /// The index of the thread that held the lock at the latest of these waits.
    pub thread: u32,
    /// The number of these waits.
    pub waits: u64,
    /// The sum of these waits, in ticks.
    pub ticks: u64,
}

/// The waits of a row, and other counters that few rows need.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct WaitRecord {
    /// How many calls had to wait, whether or not they got what they waited for.
    pub waits: u64,
    /// The sum of these waits, in ticks.
    pub ticks: u64,
    /// The longest wait, in ticks.
    pub max: u64,
    /// How many waits ended because their time limit was reached.
    pub timeouts: u64,
    /// How many try operations were refused.
    pub refused: u64,
    /// The sum of the holds after acquisitions that had waited, in ticks. All of these holds are
    /// timed.
    pub held_ticks: u64,
    /// The longest of these holds, in ticks.
    pub held_max: u64,
    /// The number of these holds.
    pub held_samples: u64,
    /// How many waits for a condition were futile. Such a wait did not time out, but the thread
    /// waited for the condition again within 50 microseconds, without having released the lock or
    /// woken a thread. So the woken thread found nothing to do.
    pub futile: u64,
    /// The number of holds that were measured for the next four fields. These are the holds after
    /// waits of more than 50 microseconds, and one in eight of the holds after shorter waits. Once
    /// the row's holds after waits are known to take less than 10 microseconds on average, only
    /// about one in 64 of these is measured. The timed holds without a wait are measured too if
    /// they take more than 10 microseconds on average.
    pub held_looked_at: u64,
    /// The sum of those holds in ticks, without the waits that released the lock during a hold.
    pub held_looked_at_ticks: u64,
    /// For how many of these ticks the holder was not on a processor.
    pub held_off_cpu_ticks: u64,
    /// How often the holder gave its processor up in those holds, because it slept or waited for a
    /// device or for another lock.
    pub held_slept: u32,
    /// How often the holder was preempted in those holds.
    pub held_preempted: u32,
    /// For how many ticks the recorder itself worked while the lock was held after a wait: from the
    /// end of the wait to the return into the program, and again before the release. They are not
    /// included in any hold, but other threads had to wait for them too.
    pub own_ticks: u64,
    /// The sum of the times between refused tries, or between polls, that followed each other
    /// within 5 microseconds, in ticks. Times in which the thread released a lock are left out, so
    /// it did nothing else.
    pub spun_ticks: u64,
    /// In the record of a row for many locks ([`super::REST`]): how many of the refused tries have
    /// been added to the records of single locks.
    pub refused_moved: u64,
    /// The number of waits by length; see [`bucket`].
    pub histogram: [u32; BUCKETS],
    /// The waits by the holder's stack. Waits for holders with further stacks are in none of these.
    pub blockers: [Blocker; BLOCKERS],
}
