//! The state of something that happens once: a word, on which waiters sleep.
//!
//! ```text
//!   FRESH, POISONED -> RUNNING                     by the thread that runs a function
//!   RUNNING         -> COMPLETE                    the function has returned; all are woken
//!   RUNNING         -> FRESH or POISONED           it has panicked; all are woken
//! ```
//!
//! 1. One thread at a time runs a function: it has exchanged `FRESH` or `POISONED` for `RUNNING`,
//!    and no other thread changes `RUNNING`.
//! 2. `COMPLETE` is final.
//! 3. A thread that sleeps has set the mark in a word whose state was not the one that it waits
//!    for. The change to `RUNNING` keeps the mark; a change from `RUNNING` clears it and wakes all.
//!
//! Source: none; the states are those of the standard library's `Once`.

use core::sync::atomic::Ordering::Acquire;

use bytemuck::Zeroable;

use crate::memory::{Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

/// No thread has begun.
pub const FRESH: u32 = 0;
/// A thread has begun, and panicked.
pub const POISONED: u32 = 2;
const RUNNING: u32 = 4;
const COMPLETE: u32 = 6;

/// All sleepers use one key.
const KEY: u32 = 0;

/// The state of something that happens once.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct RawOnce<M: Memory = Native> {
    word: M::Word,
}

// SAFETY: there is only a word, which may be zero.
unsafe impl<M: Memory<Word: Zeroable>> Zeroable for RawOnce<M> {}

impl RawOnce {
    /// The state in which no thread has begun, in native memory.
    pub const fn new() -> Self {
        // SAFETY: zero is the initial state.
        unsafe { core::mem::MaybeUninit::zeroed().assume_init() }
    }
}

/// The argument of a function that is called once.
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Whether an earlier function has panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl<M: Memory> RawOnce<M> {
    /// Whether a function has returned. Acquire ordering: if so, what it did is visible.
    #[inline]
    pub fn is_completed(&self) -> bool {
        // Acquire: pairs with the Release of `Finish`.
        self.word.load(Acquire) == COMPLETE
    }

    /// Calls the function, or waits until another thread's has returned. After a panic, the state
    /// is `panicked`. If `panicked` is `POISONED`, only calls with `force` begin again.
    ///
    /// # Panics
    ///
    /// Panics if the function does, or if the state is `POISONED`, unless `force` is set.
    #[cold]
    #[track_caller]
    pub fn call(&self, force: bool, panicked: u32, act: impl FnOnce(&OnceState)) {
        loop {
            // Acquire: pairs with the Release of `Finish`.
            let word = self.word.load(Acquire);
            match word & !PARKED {
                COMPLETE => return,
                RUNNING => _ = Park::wait::<M>(&self.word, KEY, None, |word| word != RUNNING),
                POISONED if !force => panic!("a function that is called once has panicked before"),
                state => {
                    // The mark stays: a thread in `wait` has set it, and continues to wait.
                    // Acquire: as above, since a function that panicked may have done some of its
                    // work.
                    let running = RUNNING | word & PARKED;
                    if self.word.exchange(word, running, Acquire).is_ok() {
                        let mut finish = Finish { once: self, state: panicked };
                        act(&OnceState { poisoned: state == POISONED });
                        finish.state = COMPLETE;
                        return;
                    }
                }
            }
        }
    }

    /// Waits until a function has returned. Acquire ordering.
    ///
    /// # Panics
    ///
    /// If the state is `POISONED`, unless `force` says to wait for another try.
    #[track_caller]
    pub fn wait(&self, force: bool) {
        loop {
            let over = |word| word == COMPLETE || !force && word == POISONED;
            _ = Park::wait::<M>(&self.word, KEY, None, over);
            // Acquire: as in `call`. Another thread may have begun again since the wait.
            match self.word.load(Acquire) & !PARKED {
                COMPLETE => return,
                POISONED if !force => panic!("a function that is called once has panicked"),
                _ => {}
            }
        }
    }
}

/// Ends a thread's turn when dropped, even while a panic unwinds.
struct Finish<'a, M: Memory> {
    once: &'a RawOnce<M>,
    state: u32,
}

impl<M: Memory> Drop for Finish<'_, M> {
    fn drop(&mut self) {
        // With Release ordering: pairs with the Acquire of all loads.
        Park::announce::<M>(&self.once.word, self.state);
    }
}
