//! How an end hears of the other: waiting for a flag, and writing one that is waited for.

use core::cell::Cell;
use core::sync::atomic::Ordering::AcqRel;

use super::{Bell, Look};
use crate::memory::{Memory, Word};
use crate::wait::{PARKED, Wait};

/// Writes a flag, with Release ordering, and wakes who waits for it: on its bell, if it has one,
/// or else on the flag.
#[inline]
pub fn post<W: Wait, M: Memory>(flag: &M::Word, value: u32, bell: Option<&Bell<M>>) {
    match bell {
        // AcqRel: Release, as above; Acquire pairs with `mark`, so that the bell says ASLEEP.
        Some(bell) if W::SLEEPS => {
            if flag.swap(value, AcqRel) & PARKED != 0 {
                bell.ring();
            }
        }
        _ => W::hand_over::<M>(flag, value),
    }
}

/// Marks a flag, so that its writer rings.
pub fn mark<M: Memory>(flag: &M::Word) {
    // AcqRel: pairs with the swap in `post`. If that came before, a look at the flag sees it;
    // otherwise it finds the mark, and then what we wrote to the bell.
    flag.fetch_or(PARKED, AcqRel);
}

/// Waits until a flag's value is not [`Look::NotYet`], with `fetch` before each look.
#[inline]
pub fn wait_fetching<W: Wait, M: Memory>(
    flag: &M::Word,
    fetch: impl Fn(&M::Word),
    look: impl Fn(u32) -> Look,
) -> Look {
    let found = Cell::new(Look::NotYet);
    W::wait_fetching::<M>(flag, 0, None, fetch, |value| {
        found.set(look(value));
        found.get() != Look::NotYet
    });
    found.get()
}
