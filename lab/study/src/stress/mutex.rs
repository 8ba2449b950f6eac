//! The C library's default mutex, which never spins: a thread that finds it held sleeps in the
//! kernel at once. In contrast, the library's `futex` spins for a while first.
//!
//! Source: Drepper, "Futexes Are Tricky" (2011), the third of its mutexes. glibc implements this
//! one.

use std::sync::atomic::Ordering::{Acquire, Release};

use syncline::lock::{RawLock, TryLock};
use syncline::memory::{Memory, Word};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and other threads may be asleep until it is released.
const CONTENDED: u32 = 2;

/// The cycles that a simulated thread spends on the system call that wakes a waiter. This is the
/// least that the call can cost: a call that finds no sleeper takes 0.3 microseconds at 4.3 GHz.
/// Outside of a simulation, the constant has no effect, since the real call takes its time.
const CALL: u64 = 1_300;

/// A mutex whose waiters sleep.
#[derive(Debug, Default)]
pub struct Mutex<M: Memory> {
    word: M::Word,
}

// SAFETY: only one thread changes the word from free to another state, and only the holder changes
// it back. The Acquire of an acquisition pairs with the Release of the release before it, so
// holders' accesses are ordered.
unsafe impl<M: Memory> RawLock for Mutex<M> {
    type Memory = M;
    type Node = ();

    unsafe fn acquire(&self, (): &()) {
        if self.word.exchange(FREE, HELD, Acquire).is_ok() {
            return;
        }
        while self.word.swap(CONTENDED, Acquire) != FREE {
            M::park(&self.word, CONTENDED, 0, None);
        }
    }

    unsafe fn release(&self, (): &()) {
        let address = self.word.address();
        // Another thread may free the mutex's memory after this swap.
        if self.word.swap(FREE, Release) == CONTENDED {
            M::unpark(address, Some(0), 1);
            syncline_sim::engine::delay(CALL);
        }
    }
}

// SAFETY: as above.
unsafe impl<M: Memory> TryLock for Mutex<M> {
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.word.exchange(FREE, HELD, Acquire).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::{Homes, Load, Pause, throughput};
    use crate::world::{Elsewhere, Placement};
    use syncline_sim::{Machine, Simulated};

    #[test]
    fn the_simulated_mutex_excludes_and_wakes() {
        let machine = Machine::named("opteron").unwrap();
        let load = Load {
            threads: 12,
            placement: Placement::Near,
            locks: 1,
            data: true,
            pause: Pause::Transfer,
            homes: Homes::First,
            fetch_for_writing: false,
            timed: false,
            warm_up: 0.0,
            measured: 1e-3,
            seed: 1,
        };
        // The test panics if two threads hold the mutex, and ends only if no thread sleeps for
        // ever.
        let done = throughput::run::<_, Mutex<Simulated>>(&Elsewhere(&machine), &load);
        assert!(done.per_second > 1e5 && done.fairness > 0.0, "{done:?}");
    }
}
