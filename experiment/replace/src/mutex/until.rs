//! Waits for a lock until a deadline, with any lock that can be tried.

use core::marker::PhantomData;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use syncline::lock::{TimedLock, TryLock};
use syncline::memory::Memory;

use crate::memory::Own;

/// A way to wait for a lock until a deadline.
pub trait Until<L: TryLock> {
    /// Waits for the lock, and returns whether it was acquired.
    ///
    /// # Safety
    ///
    /// Same requirements as [`TimedLock::acquire_until`].
    unsafe fn acquire(lock: &L, node: &L::Node, deadline: Duration) -> bool;
}

/// The lock's own waits with timeout.
pub struct Timed(PhantomData<()>);

impl<L: TimedLock<Memory = Own>> Until<L> for Timed {
    unsafe fn acquire(lock: &L, node: &L::Node, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        unsafe { lock.acquire_until(node, deadline) }
    }
}

/// Repeated tries, for a lock whose waiters can't give up: at first with the pauses of a spinning
/// waiter, then with sleeps of up to [`LONGEST_NAP`]. Other threads may overtake.
pub struct Polled(PhantomData<()>);

/// The longest sleep between two tries: a compromise between useless wake-ups and noticing the
/// release late.
const LONGEST_NAP: Duration = Duration::from_millis(1);
const SHORTEST_NAP: Duration = Duration::from_micros(20);

impl<L: TryLock<Memory = Own>> Until<L> for Polled {
    unsafe fn acquire(lock: &L, node: &L::Node, deadline: Duration) -> bool {
        // SAFETY: our caller's promise; a try that fails leaves the node free.
        poll(deadline, || unsafe { lock.try_acquire(node) })
    }
}

/// A deadline that never passes.
pub const NEVER: Duration = Duration::MAX;

/// Repeats `attempt` until it succeeds or the deadline has passed. Returns whether it succeeded.
pub fn poll(deadline: Duration, attempt: impl Fn() -> bool) -> bool {
    let mut looks = 0;
    let mut nap = SHORTEST_NAP;
    while !attempt() {
        looks += 1;
        if looks < Own::PATIENCE {
            Own::pause(looks);
            continue;
        }
        let now = Own::now();
        if now >= deadline {
            return false;
        }
        // No other thread knows this word, so the nap ends by the clock.
        Own::park(&AtomicU32::new(0), 0, 0, Some(deadline.min(now + nap)));
        nap = LONGEST_NAP.min(nap * 2);
    }
    true
}
