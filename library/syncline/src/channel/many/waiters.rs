//! Threads that sleep until something has changed. Any of them may be woken.
//!
//! ```text
//!   the sleeper                             the thread that changes something
//!     counts itself                           has changed it
//!     heavy barrier                           light barrier
//!     notes the number of changes             looks whether any thread is counted:
//!     looks once more                           raises the number of changes,
//!     sleeps if the number is the same           wakes one, or all if the last end is gone
//! ```
//!
//! No wake-up is lost. Either the sleeper finds what has changed, or the other thread sees that the
//! sleeper has counted itself, and raises the number. If the number is raised before the sleeper
//! reads it, the sleeper finds the change, which was made earlier still. If the number is raised
//! afterwards, the sleeper does not fall asleep, or is woken. A thread that is woken looks once
//! more, even if its deadline has passed: the wake-up was meant for any of the sleepers.
//!
//! Tasks wait in the same way, without sleeping: `wakers.rs` says how. A change wakes a thread and a
//! task, since it is not known which of them will come first.
//!
//! Source: an event count (Reed and Kanodia, "Synchronization with Eventcounts and Sequencers",
//! CACM 22(2), 1979), with the barrier of two sides that `news` has.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::task::Waker;
use core::time::Duration;

use super::wakers::{TASKS, Wakers};
use crate::memory::{Memory, Word};

/// The step of the number of changes: bit 0 stays clear, as in the words that waiting policies wait
/// for.
const STEP: u32 = 2;

/// Threads that wait for messages, or threads that wait for room.
#[derive(Default)]
pub struct Waiters<M: Memory> {
    /// How many threads sleep, or are about to. The bit [`TASKS`] says that tasks wait.
    count: M::Word,
    /// Changes that were made while a thread was counted, times [`STEP`].
    changes: M::Word,
    wakers: Wakers<M>,
}

impl<M: Memory> Waiters<M> {
    /// Wakes up to this many threads, and as many tasks, after something has changed for them.
    #[inline]
    pub fn wake(&self, most: u32) {
        M::light_barrier();
        // Relaxed: the barrier orders it after the change.
        let waiting = self.count.load(Relaxed);
        if waiting != 0 {
            self.wake_some(waiting, most);
        }
    }

    #[cold]
    fn wake_some(&self, waiting: u32, most: u32) {
        if waiting & !TASKS != 0 {
            // Release: pairs with the Acquire in `sleep`: a thread that sees the number sees the
            // change.
            self.changes.fetch_add(STEP, Release);
            M::unpark(self.changes.address(), Some(0), most);
        }
        if waiting & TASKS != 0 {
            self.wakers.wake(most, &self.count);
        }
    }

    /// Looks on behalf of a task. If that finds nothing, the task is woken by this waker after a
    /// change, and has a ticket for it.
    pub fn poll<R>(
        &self,
        ticket: &mut Option<u64>,
        waker: &Waker,
        look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        self.wakers.poll(ticket, waker, &self.count, look)
    }

    /// Gives a task's ticket back, if the task has one. If the task was woken, another task is
    /// woken instead.
    pub fn leave(&self, ticket: &mut Option<u64>) {
        self.wakers.leave(ticket, &self.count);
    }

    /// Looks, and if that finds nothing, sleeps until this thread is woken, the deadline has
    /// passed, or the thread wakes spuriously. Then looks again. Returns what a look has found.
    #[cold]
    pub fn sleep<R>(
        &self,
        deadline: Option<Duration>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        // Relaxed: the barrier orders it before the look.
        self.count.fetch_add(1, Relaxed);
        M::heavy_barrier();
        // Acquire: pairs with the Release in `wake_some`.
        let changes = self.changes.load(Acquire);
        let found = look();
        if found.is_none() {
            M::park(&self.changes, changes, 0, deadline);
        }
        // Relaxed: a thread that still sees this one counted makes a wake-up call that wakes no
        // thread.
        self.count.fetch_sub(1, Relaxed);
        found.or_else(look)
    }
}
