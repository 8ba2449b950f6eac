//! What wakes a receiver that waits for several channels.
//!
//! Such a receiver can't sleep on all their flags. Before it sleeps it marks each of them, by the
//! bit by which sleepers ask to be woken; whoever finds the mark in what it overwrites rings the
//! bell on which the receiver sleeps. So a sender pays nothing for a receiver that is awake.
//!
//! No message is missed: the receiver says that it sleeps, and then marks and looks, in one step
//! for each flag. A message that came before is seen; one that comes later finds the mark, and its
//! sender also finds that the receiver sleeps.

use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use crate::memory::{Memory, Word};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 2;

/// The bell of a receiver.
#[derive(Default)]
pub struct Bell<M: Memory> {
    state: M::Word,
}

impl<M: Memory> Bell<M> {
    /// Sleeps until a sender rings or the deadline, unless `mark`, called after it was said that we
    /// sleep, finds a message.
    pub fn sleep(&self, deadline: Option<Duration>, mark: impl FnOnce() -> bool) {
        // Relaxed: the marks publish it. Swaps, both, so that they have their place in the word's
        // order among late rings, also to a checker.
        self.state.swap(ASLEEP, Relaxed);
        if !mark() {
            M::park(&self.state, ASLEEP, 0, deadline);
        }
        // Relaxed: who rings in vain after this finds us awake, or wakes nobody.
        self.state.swap(AWAKE, Relaxed);
    }

    /// Wakes the receiver if it sleeps.
    pub fn ring(&self) {
        let address = self.state.address();
        // Relaxed: the flag carries the message.
        if self.state.swap(AWAKE, Relaxed) == ASLEEP {
            M::unpark(address, Some(0), 1);
        }
    }
}
