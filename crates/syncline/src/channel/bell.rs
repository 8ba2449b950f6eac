//! What wakes a receiver that waits for several channels.
//!
//! Such a receiver can't sleep on all their flags. Before it sleeps it marks each of them, by the
//! bit by which sleepers ask to be woken; whoever finds the mark in what it overwrites rings the
//! bell on which the receiver sleeps. So a sender pays nothing for a receiver that is awake.
//!
//! No message is missed: the receiver says that it sleeps, and then marks and looks, in one step
//! for each flag. A message that came before is seen; one that comes later finds the mark, and its
//! sender also finds that the receiver sleeps.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::memory::{Memory, Word};
use crate::wait::{PARKED, Wait};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 2;

/// The bell of a receiver.
#[derive(Default)]
pub struct Bell<M: Memory> {
    state: M::Word,
}

impl<M: Memory> Bell<M> {
    /// Sleeps until a sender rings, unless `mark`, called after it was said that we sleep, finds a
    /// message.
    pub fn sleep(&self, mark: impl FnOnce() -> bool) {
        // Relaxed: the marks publish it.
        self.state.store(ASLEEP, Relaxed);
        if !mark() {
            M::park(&self.state, ASLEEP, 0, None);
        }
        // Relaxed: who rings in vain after this finds us awake or wakes nobody.
        self.state.store(AWAKE, Relaxed);
    }

    fn ring(&self) {
        let address = self.state.address();
        // Relaxed: the flag carries the message.
        if self.state.swap(AWAKE, Relaxed) == ASLEEP {
            M::unpark(address, Some(0), 1);
        }
    }
}

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
