//! A barrier: no thread continues until a fixed number of threads have arrived.
//!
//! A thread that arrives counts itself under a small lock and, unless it is the last one, waits for
//! the number of the *round* to change. The last one resets the count and changes the number. So a
//! thread that arrives again at once is in the next round, and does not hold up a thread that still
//! sleeps in this one. The round is read and changed under the same lock, so each thread knows its
//! round for certain.
//!
//! A waiter doesn't take the lock again. Each thread takes the lock once, to count itself: with
//! many threads that meet often on many processors, a tree of counters would be faster.
//!
//! Source: the centralized barrier of Mellor-Crummey and Scott, "Algorithms for Scalable
//! Synchronization on Shared-Memory Multiprocessors" (TOCS 1991), section 3.1, with a count of
//! rounds in place of the reversed sense.

use core::fmt;
use core::sync::atomic::Ordering::Relaxed;

use crate::lock::Futex;
use crate::memory::{Memory, Native, Word};
use crate::mutex::Mutex;
use crate::wait::{PARKED, Park, Wait};

/// All sleepers use one key.
const KEY: u32 = 0;
/// The step from one round's number to the next: numbers are even.
const ROUND: u32 = 2;

/// A barrier for `n` threads, which can be used any number of times.
///
/// ```
/// use syncline::Barrier;
///
/// let barrier = Barrier::new(3);
/// let leaders: usize = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| barrier.wait().is_leader())).collect();
///     threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
/// });
/// assert_eq!(leaders, 1);
/// ```
pub struct Barrier<M: Memory = Native> {
    arrived: Mutex<usize, Futex<Park, M>>,
    /// Changes when a round is over.
    round: M::Word,
    threads: usize,
}

impl Barrier {
    /// A barrier for `n` threads, in native memory. 0 is treated like 1: no thread waits. In other
    /// memories use `Barrier::from`.
    pub const fn new(n: usize) -> Self {
        use core::sync::atomic::AtomicU32;
        Self { arrived: Mutex::with_lock(0), round: AtomicU32::new(0), threads: n }
    }
}

/// Like [`Barrier::new`], in any memory.
impl<M: Memory> From<usize> for Barrier<M> {
    fn from(n: usize) -> Self {
        let arrived = Mutex::from_raw(Futex::default(), 0);
        Self { arrived, round: M::Word::default(), threads: n }
    }
}

impl<M: Memory> Barrier<M> {
    /// Waits until all threads of this round have arrived. For one of them,
    /// [`is_leader`](BarrierWaitResult::is_leader) of the result is true.
    ///
    /// The work of each thread before the barrier is visible to all threads after it: Acquire and
    /// Release ordering.
    pub fn wait(&self) -> BarrierWaitResult {
        let round = self.arrived.with(|arrived| {
            // Relaxed: it is written under this lock. Sleepers may have marked it.
            let round = self.round.load(Relaxed) & !PARKED;
            *arrived += 1;
            if *arrived < self.threads {
                return Some(round);
            }
            *arrived = 0;
            // `announce` has Release ordering, which pairs with the Acquire of the wait below. What
            // the other threads did is ordered by the lock, which we have acquired after them.
            Park::announce::<M>(&self.round, round.wrapping_add(ROUND));
            None
        });
        if let Some(round) = round {
            _ = Park::wait::<M>(&self.round, KEY, None, |now| now != round);
        }
        BarrierWaitResult(round.is_none())
    }
}

impl<M: Memory> fmt::Debug for Barrier<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

/// Whether a thread leads the round of a [`Barrier`] that has just ended.
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread leads. Exactly one thread of each round leads: the last one to arrive.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.0).finish()
    }
}
