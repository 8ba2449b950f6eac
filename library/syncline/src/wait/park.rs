//! Spinning, then parking: after polling without success for a while, the waiter sets [`PARKED`] in
//! the word and sleeps in the kernel. A thread that writes the word finds the bit in the value that
//! it overwrites, and wakes the sleeper.
//!
//! No wake-up is lost: the kernel lets a thread sleep only while the word still holds the value
//! with the bit, and every later writer sees the bit, since it writes with an atomic
//! read-modify-write operation.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::time::Duration;

use super::policy::{PARKED, Wait};
use super::r#yield::Yield;
use crate::memory::{Memory, Word};

/// A waiter that can sleep stops spinning `SOONER` times sooner than one that yields: after about
/// the time that falling asleep and being woken takes. With many more threads than processors, a
/// thread that spins for longer watches a word whose writer has lost its processor.
const SOONER: u32 = 4;

/// Spin for a while, then sleep in the kernel until woken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Park;

impl Wait for Park {
    const NAME: &'static str = "park";
    const SLEEPS: bool = true;
    const YIELDS: bool = true;

    #[inline]
    fn wait_fetching<M: Memory>(
        word: &M::Word,
        key: u32,
        deadline: Option<Duration>,
        fetch: impl Fn(&M::Word),
        done: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if over::<M>(word, &fetch, &done) {
            Some(0)
        } else {
            look_again::<M>(word, key, deadline, fetch, done)
        }
    }

    #[inline]
    fn hand_over<M: Memory>(word: &M::Word, value: u32) {
        let address = word.address();
        // Release: pairs with the Acquire of `wait`.
        if word.swap(value, Release) & PARKED != 0 {
            M::unpark(address, Some(0), 1);
        }
    }

    #[inline]
    fn announce<M: Memory>(word: &M::Word, value: u32) {
        let address = word.address();
        // This clears the mark, so all threads that slept under it are woken. A thread that
        // continues to wait sets the mark again. Release: pairs with the Acquire of `wait`.
        if word.swap(value, Release) & PARKED != 0 {
            M::unpark(address, None, u32::MAX);
        }
    }

    #[inline]
    fn advance<M: Memory>(word: &M::Word, value: u32, last: bool) {
        let address = word.address();
        let next = value.wrapping_add(2);
        // If other threads wait for later values, the bit stays, or no thread would wake them. If
        // `last` says that none does, the bit is cleared; a thread that came and slept meanwhile is
        // woken, and sets the bit again. Release: pairs with the Acquire of `wait`.
        let (old, key) = if last {
            (word.swap(next, Release), None)
        } else {
            (word.fetch_add(2, Release), Some(next / 2))
        };
        if old & PARKED != 0 {
            M::unpark(address, key, u32::MAX);
        }
    }

    #[inline]
    fn pause_at<M: Memory, T>(word: &T, looks: u32) {
        Yield::pause_at::<M, T>(word, looks);
    }
}

/// Checks whether the wait is over.
#[inline]
fn over<M: Memory>(word: &M::Word, fetch: impl Fn(&M::Word), done: impl Fn(u32) -> bool) -> bool {
    fetch(word);
    // Acquire: pairs with the Release of `hand_over`, `announce`, `replace` and `advance`.
    done(word.load(Acquire) & !PARKED)
}

/// Spins, then sleeps. This is a function of its own, so that an acquisition that need not wait
/// stays small.
#[cold]
fn look_again<M: Memory>(
    word: &M::Word,
    key: u32,
    deadline: Option<Duration>,
    fetch: impl Fn(&M::Word),
    done: impl Fn(u32) -> bool,
) -> Option<u32> {
    for looks in 1..M::PATIENCE / SOONER {
        M::pause_at(word, looks);
        if over::<M>(word, &fetch, &done) {
            return Some(0);
        }
    }
    sleep::<M>(word, key, deadline, done)
}

fn sleep<M: Memory>(
    word: &M::Word,
    key: u32,
    deadline: Option<Duration>,
    done: impl Fn(u32) -> bool,
) -> Option<u32> {
    loop {
        // Acquire: pairs with the Release of `hand_over`, `announce`, `replace` and `advance`.
        let value = word.load(Acquire);
        if done(value & !PARKED) {
            return Some(PARKED);
        }
        if deadline.is_some_and(|deadline| M::now() >= deadline) {
            // If several threads wait for one value, another thread may have taken the value that
            // woke us, and the mark of those that still sleep was cleared. We wake one of them, so
            // that it sets the mark again.
            M::unpark(word.address(), Some(key), 1);
            return None;
        }
        // Relaxed: the mark publishes nothing else, and the kernel checks the word again.
        if value & PARKED != 0 || word.exchange(value, value | PARKED, Relaxed).is_ok() {
            M::park(word, value | PARKED, key, deadline);
        }
    }
}
