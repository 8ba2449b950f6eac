//! The trait of policies: how a waiter waits, and how the word that it watches is written.

use core::fmt::Debug;
use core::sync::atomic::Ordering::AcqRel;
use core::time::Duration;

use crate::memory::{Memory, Word};

/// The bit of a word by which a sleeper asks to be woken.
pub const PARKED: u32 = 1;

/// A way to wait.
pub trait Wait: Copy + Default + Debug + Send + Sync + 'static {
    /// The policy's name in the catalogue.
    const NAME: &'static str;

    /// Whether waiters may sleep, so that the thread that admits them has to wake them.
    const SLEEPS: bool;

    /// Whether waiters let other threads run while they wait, rather than only poll.
    const YIELDS: bool;

    /// A word's value, without [`PARKED`].
    #[inline(always)]
    fn unmarked(word: u32) -> u32 {
        if Self::SLEEPS { word & !PARKED } else { word }
    }

    /// Waits until `done` holds for the word's value, which is passed without [`PARKED`], or until
    /// the deadline on the memory's clock, if there is one. A thread that parks does so under
    /// `key`. `done` must depend on the value alone: its answer for a value holds for as long as
    /// the word has that value.
    ///
    /// Returns `None` if the deadline passed first, [`PARKED`] if this thread may have slept, and 0
    /// otherwise. If several threads wait for one value, and only one of them is woken, that thread
    /// must put the bit back into the word, since others may still sleep.
    #[inline(always)]
    fn wait<M: Memory>(
        word: &M::Word,
        key: u32,
        deadline: Option<Duration>,
        done: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        Self::wait_fetching::<M>(word, key, deadline, |_| (), done)
    }

    /// Like [`wait`](Self::wait), for a waiter that fetches the word's line in its own way. `fetch`
    /// is called right before each load of the word, with nothing in between, until the waiter
    /// begins to sleep.
    fn wait_fetching<M: Memory>(
        word: &M::Word,
        key: u32,
        deadline: Option<Duration>,
        fetch: impl Fn(&M::Word),
        done: impl Fn(u32) -> bool,
    ) -> Option<u32>;

    /// Writes an (even) value to a word, with Release ordering, and wakes one waiter with key 0.
    ///
    /// The waiter may free the word as soon as it is written.
    fn hand_over<M: Memory>(word: &M::Word, value: u32);

    /// Writes an (even) value to a word, with Release ordering, and wakes all threads that wait for
    /// the word. Used for a word on which several threads may wait, each for its own value.
    fn announce<M: Memory>(word: &M::Word, value: u32);

    /// Writes an (even) value to a word as [`hand_over`](Self::hand_over) does, and returns the
    /// word's old value, without [`PARKED`] and with Acquire ordering. Used for a word that the
    /// waiter changes too, when it gives up.
    #[inline]
    fn replace<M: Memory>(word: &M::Word, value: u32) -> u32 {
        let address = word.address();
        // AcqRel: pairs with the Acquire of `wait`, and with the swap by which a waiter gives up.
        let old = word.swap(value, AcqRel);
        if old & PARKED != 0 {
            M::unpark(address, Some(0), 1);
        }
        old & !PARKED
    }

    /// Adds 2 to a word, with Release ordering, and wakes the thread that waits for the new value.
    /// Several threads wait for the word, each for its own value and with half of that value as its
    /// key. `value` is the word's present value, without [`PARKED`]; the caller is the only writer.
    /// `last` says that no thread waited for a later value when the caller looked. A policy that
    /// never sleeps ignores `last`.
    fn advance<M: Memory>(word: &M::Word, value: u32, last: bool);

    /// A pause between two looks at a word or link, in a wait for a thread that is between two
    /// steps. Such a wait should be short. `looks` counts from 1. The pause may yield if that
    /// thread seems to have lost its processor.
    fn pause_at<M: Memory, T>(word: &T, looks: u32);

    /// Like [`pause_at`](Self::pause_at), in a loop that reads more than one word.
    #[inline(always)]
    fn pause<M: Memory>(looks: u32) {
        Self::pause_at::<M, ()>(&(), looks);
    }
}
