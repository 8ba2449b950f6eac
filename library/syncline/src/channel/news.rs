//! How one end notifies the other: waiting for a flag, and writing a flag that the other end waits
//! for.
//!
//! An end that falls asleep marks its bell, and an end that writes a flag reads the bell
//! afterwards:
//!
//! ```text
//!   the sleeper                         the writer
//!     the bell says ASLEEP                the flag has news
//!     heavy barrier                       light barrier
//!     looks at the flag, sleeps           looks at the bell, rings
//! ```
//!
//! No wake-up is lost: each side stores, executes a barrier and then reads what the other one
//! stores, so at least one of them sees the other's store. Either the sleeper finds the message, or
//! the other end wakes it. Messages are many and sleeps few, so the sleeper pays for both barriers
//! ([`Memory::heavy_barrier`]): a message costs its sender a store and a read that hits its own
//! cache. An atomic exchange or a fence would make the sender wait until the line has arrived.
//!
//! A task waits in the same way, but instead of sleeping it leaves its waker on the bell, next to
//! the state (`slot.rs`), and returns to its executor.
//!
//! Source: looking for sleepers after a store and a barrier is what Dekker's mutual exclusion and
//! event counts do; the barrier of two unequal sides is that of user-space RCU (Desnoyers et al.,
//! "User-Level Implementations of Read-Copy Update", IEEE TPDS 2012).

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::task::Waker;
use core::time::Duration;

use super::bell::Bell;
use super::patience::Patience;
use super::raw::Look;
use super::selector::Selector;
use super::slot::{clear, holds, set, wake};
use crate::memory::{Link, Memory, Word};
use crate::wait::Wait;

const AWAKE: u32 = 0;
const ASLEEP: u32 = 2;
/// Its owner sleeps, but not on this bell alone.
const SELECTS: u32 = 4;
/// Its owner is a task that waits, and its waker is on the bell.
const POLLED: u32 = 6;

/// Writes a flag, with Release ordering, and wakes the thread or task that waits for it on this
/// bell.
#[inline(always)]
pub fn post<W: Wait, M: Memory>(flag: &M::Word, value: u32, bell: &Bell<M>) {
    // Release: pairs with the Acquire of the thread that looks at the flag.
    flag.store(value, Release);
    if W::SLEEPS {
        M::light_barrier();
        // Relaxed: the barrier orders it after the flag.
        if bell.state.load(Relaxed) != AWAKE {
            ring(bell);
        }
    }
}

#[cold]
fn ring<M: Memory>(bell: &Bell<M>) {
    let address = bell.state.address();
    // One of the threads that ring wakes the sleeper. Acquire: pairs with the Release of `select`
    // and `poll`: the selector, or the slot, is as it was noted. The flag carries the message.
    match bell.state.swap(AWAKE, Acquire) {
        ASLEEP => M::unpark(address, Some(0), 1),
        SELECTS => {
            let selector = bell.selector.load(Relaxed).expect("it is noted before the state");
            // SAFETY: the selector stays until all threads that have found it have rung, and this
            // is one of them.
            unsafe { Selector::<M>::ring(selector) }
        }
        POLLED => wake(bell),
        _ => {}
    }
}

/// Notes on a bell that its owner sleeps on several bells, and with which selector.
pub fn select<M: Memory>(bell: &Bell<M>, selector: &Selector<M>) {
    // Relaxed: seen by the thread that sees the state.
    bell.selector.store(Some(M::refer(selector)), Relaxed);
    // Release: pairs with the Acquire of `ring`.
    bell.state.swap(SELECTS, Release);
}

/// Notes that the owner is awake again. Returns whether a thread has found the selector, and rings
/// it or has rung it.
pub fn selected<M: Memory>(bell: &Bell<M>) -> bool {
    // Relaxed: the thread that found the selector counts itself in the selector.
    bell.state.swap(AWAKE, Relaxed) == AWAKE
}

/// Sleeps until a thread rings or the deadline has passed, unless there is news already. If there
/// is no message afterwards, the caller calls this function again.
#[cold]
pub fn sleep<M: Memory>(
    bell: &Bell<M>,
    deadline: Option<Duration>,
    is_there_news: impl FnOnce() -> bool,
) {
    // Relaxed: the barrier orders it before the look. Both writes of the state are swaps, which
    // puts them in order with late rings, for a checker as well.
    bell.state.swap(ASLEEP, Relaxed);
    M::heavy_barrier();
    if !is_there_news() {
        M::park(&bell.state, ASLEEP, 0, deadline);
    }
    // Relaxed: a thread that rings after this finds the owner awake, or wakes no thread.
    bell.state.swap(AWAKE, Relaxed);
}

/// Looks for news on behalf of a task. If there is none, a thread that rings wakes the task by this
/// waker. If there will never be any ([`Look::Gone`]), the bell keeps no waker. The bell is the
/// task's, and known to the thread that writes the flag.
pub fn poll<M: Memory>(bell: &Bell<M>, waker: &Waker, mut look: impl FnMut() -> Look) -> Look {
    match look() {
        Look::Ready => return Look::Ready,
        Look::Gone => {
            withdraw(bell);
            return Look::Gone;
        }
        // Relaxed: if the state is the one that this owner has noted, then the waker is still
        // there, and a thread that writes the flag after this look finds it.
        Look::NotYet if bell.state.load(Relaxed) == POLLED && holds(bell, waker) => {
            return Look::NotYet;
        }
        Look::NotYet => {}
    }
    if !set(bell, waker) {
        waker.wake_by_ref();
        return Look::NotYet;
    }
    // Release: pairs with the Acquire of `ring`.
    bell.state.swap(POLLED, Release);
    M::heavy_barrier();
    let found = look();
    if found != Look::NotYet {
        withdraw(bell);
    }
    found
}

/// Notes that the owner does not wait any more, and drops its waker. A thread that has seen the
/// waker before may still wake the task.
#[cold]
pub fn withdraw<M: Memory>(bell: &Bell<M>) {
    // Relaxed: as at the end of `sleep`.
    bell.state.swap(AWAKE, Relaxed);
    clear(bell);
}

/// Waits until a flag's value is not [`Look::NotYet`], or the deadline has passed. Calls `fetch`
/// before each look, except for looks before a sleep. The bell is the caller's, and known to the
/// thread that writes the flag.
#[inline]
pub fn wait_fetching<W: Wait, M: Memory>(
    flag: &M::Word,
    bell: &Bell<M>,
    patience: &mut Patience,
    deadline: Option<Duration>,
    fetch: impl Fn(&M::Word),
    look: impl Fn(u32) -> Look,
) -> Look {
    let found = Cell::new(Look::NotYet);
    let done = |value| {
        found.set(look(value));
        found.get() != Look::NotYet
    };
    if !W::YIELDS {
        W::wait_fetching::<M>(flag, 0, deadline, fetch, done);
        return found.get();
    }
    let watched = patience.watch::<W, M, ()>(deadline, || {
        fetch(flag);
        // Acquire: pairs with the Release of `post`.
        done(flag.load(Acquire)).then_some(())
    });
    if watched.is_none() && W::SLEEPS {
        // Acquire: as above.
        let is_there_news = || done(flag.load(Acquire));
        while !is_there_news() && deadline.is_none_or(|deadline| M::now() < deadline) {
            sleep(bell, deadline, is_there_news);
        }
    }
    found.get()
}
