//! Spinning, then yielding: after polling without success for a while, the waiter yields between
//! looks. So the thread for which it waits gets a processor within some turns of the scheduler, and
//! no writer pays for waking a thread.

use core::sync::atomic::Ordering::Acquire;
use core::time::Duration;

use super::policy::Wait;
use super::spin::Spin;
use crate::memory::{Memory, Word};

/// Spin for a while, then yield the processor between looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Yield;

impl Wait for Yield {
    const NAME: &'static str = "yield";
    const SLEEPS: bool = false;
    const YIELDS: bool = true;

    #[inline]
    fn wait_fetching<M: Memory>(
        word: &M::Word,
        _: u32,
        deadline: Option<Duration>,
        fetch: impl Fn(&M::Word),
        done: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        fetch(word);
        // Acquire: pairs with the Release of `hand_over`, `announce`, `replace` and `advance`.
        if done(word.load(Acquire)) {
            Some(0)
        } else {
            look_again::<M>(word, deadline, fetch, done)
        }
    }

    #[inline(always)]
    fn hand_over<M: Memory>(word: &M::Word, value: u32) {
        Spin::hand_over::<M>(word, value);
    }

    #[inline(always)]
    fn announce<M: Memory>(word: &M::Word, value: u32) {
        Spin::announce::<M>(word, value);
    }

    #[inline(always)]
    fn advance<M: Memory>(word: &M::Word, value: u32, last: bool) {
        Spin::advance::<M>(word, value, last);
    }

    #[inline]
    fn pause_at<M: Memory, T>(word: &T, looks: u32) {
        if looks < M::PATIENCE {
            M::pause_at(word, looks);
        } else {
            M::yield_now();
        }
    }
}

/// Separate from the first look, so that an acquisition that needn't wait stays small.
#[cold]
fn look_again<M: Memory>(
    word: &M::Word,
    deadline: Option<Duration>,
    fetch: impl Fn(&M::Word),
    done: impl Fn(u32) -> bool,
) -> Option<u32> {
    let mut looks = 1;
    loop {
        Yield::pause_at::<M, _>(word, looks);
        fetch(word);
        // Acquire: pairs with the Release of `hand_over`, `announce`, `replace` and `advance`.
        if done(word.load(Acquire)) {
            return Some(0);
        }
        looks += 1;
        if looks >= M::PATIENCE && deadline.is_some_and(|deadline| M::now() >= deadline) {
            return None;
        }
    }
}
