//! The waker on a bell: which of two threads may use it, the bell's owner or a thread that rings.
//!
//! ```text
//!   EMPTY    the owner may change the waker
//!   SET      the waker is for the thread that rings next
//!   TAKING   a thread that rings copies the waker; afterwards the slot is EMPTY
//! ```
//!
//! The owner never waits for a thread that rings. If the slot is TAKING, a wake-up is under way,
//! but perhaps not that of the task that polls now; so this task is woken as well. A waker that was
//! used stays on the bell. So a task that waits again, as most do, finds its own waker there, and
//! copies nothing.
//!
//! Several threads may ring an inbox. One of them wakes the task; the task then finds the messages of
//! all.
//!
//! Source: `AtomicWaker` of the crate futures has a slot with three states. There a thread that
//! rings while the owner writes the waker leaves a mark for the owner. Here the thread leaves
//! nothing, since the owner looks for news once more after writing the waker.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::task::Waker;

use super::bell::Bell;
use crate::memory::{Data, Memory, Word};

const EMPTY: u32 = 0;
const SET: u32 = 2;
const TAKING: u32 = 4;

/// Takes the slot back for its owner. Fails if a thread is copying the waker.
fn claim<M: Memory>(bell: &Bell<M>) -> bool {
    // Relaxed: the owner has set it, and no thread has copied the waker since.
    bell.slot.exchange(SET, EMPTY, Relaxed).is_ok()
        // Acquire: pairs with the Release in `wake`: that thread is done with the waker.
        || bell.slot.load(Acquire) == EMPTY
}

/// Puts the waker of the owner's task on the bell. Fails if a thread is copying the earlier waker.
pub fn set<M: Memory>(bell: &Bell<M>, waker: &Waker) -> bool {
    if !claim(bell) {
        return false;
    }
    let replace = |held: *mut Option<Waker>| {
        // SAFETY: the slot is the owner's.
        let held = unsafe { &mut *held };
        let wakes = held.as_ref().is_some_and(|held| held.will_wake(waker));
        if wakes { None } else { held.replace(waker.clone()) }
    };
    // SAFETY: as above.
    let earlier = unsafe { bell.waker.with(replace) };
    // Release: pairs with the Acquire in `wake`: the waker is there.
    bell.slot.store(SET, Release);
    // Dropping the earlier waker may drop its task. The task may own the channel's other end, which
    // then rings.
    drop(earlier);
    true
}

/// Whether this waker is on the bell for the thread that rings next. Called by the owner.
pub fn holds<M: Memory>(bell: &Bell<M>, waker: &Waker) -> bool {
    // SAFETY: only the owner changes the waker.
    let wakes = |held: *const Option<Waker>| unsafe {
        (*held).as_ref().is_some_and(|held| held.will_wake(waker))
    };
    // Relaxed: only the owner sets it. SAFETY: as above.
    bell.slot.load(Relaxed) == SET && unsafe { bell.waker.look(wakes) }
}

/// Drops the waker, unless a thread is copying it. Called by the owner.
pub fn clear<M: Memory>(bell: &Bell<M>) {
    if claim(bell) {
        // SAFETY: the slot is the owner's.
        drop(unsafe { bell.waker.with(|held| (*held).take()) });
    }
}

/// Wakes the task whose waker is there, if there is one. Called by a thread that rings.
pub fn wake<M: Memory>(bell: &Bell<M>) {
    // Acquire: pairs with the Release in `set`.
    if bell.slot.exchange(SET, TAKING, Acquire).is_err() {
        return;
    }
    // SAFETY: the owner does not change the waker of a slot that is TAKING.
    let waker = unsafe { bell.waker.look(|held| (*held).clone()) };
    // Release: pairs with the Acquire in `claim`.
    bell.slot.store(EMPTY, Release);
    // The waker is used only now: `wake` may poll the task in this thread, and the task may wait
    // again.
    if let Some(waker) = waker {
        waker.wake();
    }
}
