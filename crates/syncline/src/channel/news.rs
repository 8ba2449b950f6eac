//! How an end hears of the other: waiting for a flag, and writing one that is waited for.

use core::cell::Cell;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use core::time::Duration;

use super::patience::Patience;
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

/// Waits until a flag's value is not [`Look::NotYet`], or the deadline has passed, with `fetch`
/// before each look. Only one thread waits for a flag.
#[inline]
pub fn wait_fetching<W: Wait, M: Memory>(
    flag: &M::Word,
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
        // Acquire: pairs with the Release of `post` and of `hand_over`.
        done(W::unmarked(flag.load(Acquire))).then_some(())
    });
    if watched.is_none() && W::SLEEPS {
        sleep::<M>(flag, deadline, done);
    }
    found.get()
}

/// Sleeps until it is done, or the deadline has passed.
#[cold]
fn sleep<M: Memory>(flag: &M::Word, deadline: Option<Duration>, done: impl Fn(u32) -> bool) {
    loop {
        // Acquire: as above.
        let value = flag.load(Acquire);
        if done(value & !PARKED) || deadline.is_some_and(|deadline| M::now() >= deadline) {
            return;
        }
        // Relaxed: it publishes nothing but itself, and the kernel looks at the flag again.
        if value & PARKED != 0 || flag.exchange(value, value | PARKED, Relaxed).is_ok() {
            M::park(flag, value | PARKED, 0, deadline);
        }
    }
}
