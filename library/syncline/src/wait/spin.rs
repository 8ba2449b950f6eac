//! Spinning: the waiter polls until the wait is over. Spinning has the shortest latency, and
//! occupies the processor. With more threads than processors, the thread for which others wait may
//! not be running, and the waiters use up their time slices.

use core::sync::atomic::Ordering::{Acquire, Release};
use core::time::Duration;

use super::policy::Wait;
use crate::memory::{Memory, Word};

/// Spin until the wait is over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spin;

impl Wait for Spin {
    const NAME: &'static str = "spin";
    const SLEEPS: bool = false;
    const YIELDS: bool = false;

    #[inline]
    fn wait_fetching<M: Memory>(
        word: &M::Word,
        _: u32,
        deadline: Option<Duration>,
        fetch: impl Fn(&M::Word),
        done: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let mut looks = 0;
        loop {
            fetch(word);
            // Acquire: pairs with the Release of `hand_over`, `announce`, `replace` and `advance`.
            if done(word.load(Acquire)) {
                return Some(0);
            }
            looks += 1;
            if looks % M::PATIENCE == 0 && deadline.is_some_and(|deadline| M::now() >= deadline) {
                return None;
            }
            M::pause_at(word, looks);
        }
    }

    #[inline(always)]
    fn hand_over<M: Memory>(word: &M::Word, value: u32) {
        // Release: pairs with the Acquire of `wait`.
        word.store(value, Release);
    }

    #[inline(always)]
    fn announce<M: Memory>(word: &M::Word, value: u32) {
        Self::hand_over::<M>(word, value);
    }

    #[inline(always)]
    fn advance<M: Memory>(word: &M::Word, value: u32, _: bool) {
        // Release: pairs with the Acquire of `wait`.
        word.store(value.wrapping_add(2), Release);
    }

    #[inline]
    fn pause_at<M: Memory, T>(word: &T, looks: u32) {
        M::pause_at(word, looks);
    }
}
