//! Who waits for whom: found is a cycle of threads, each of which waits for a lock that the next
//! one holds.
//!
//! A thread has a *seat*, which says what it waits for. Before it waits it writes its seat and then
//! follows the chain: from the lock to its holder's seat, to the lock that the holder waits for, and
//! on. If the chain comes back to it, they all wait forever.
//!
//! 1. **No cycle is missed.** Seats are under a lock each. Of two threads of a cycle that write
//!    their seats, one comes to the other's after that was written; so whoever was the last of all
//!    sees the seats of all. Each took the lock that the one before waits for earlier than it wrote
//!    its seat: so the holders are seen as well.
//! 2. **Nothing else is found.** The chain is followed twice. A lock's holder is noted no more
//!    before the lock is released, and a wait until the lock was acquired. So if the last of the
//!    chain waits for a lock of ours, it waits as long as we are here, and holds what it held when
//!    it began; the second time that is what is seen of it, and so on, from the last to the first.
//! 3. **A lock on the way is there**: whoever waits for it has borrowed it, and can't go on while
//!    its seat is locked.
//!
//! Not seen are who waits for a time only, who waits for those who share a lock, what is taken again
//! after a wait for a condition, and locks that are used without a `Mutex` or an `RwLock` around them.
//!
//! Source: the graph of waits is that of Coffman, Elphick and Shoshani, "System Deadlocks", ACM
//! Computing Surveys 3(2), 1971, section 3, with one lock to a wait.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::panic::Location;
use core::ptr::{self, dangling_mut, from_ref, null_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::noted::Owner;

/// What a thread waits for. Kept forever, and used again by a later thread.
#[derive(Debug)]
pub(crate) struct Seat(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The thread's name.
    name: String,
    wait: Option<Wait>,
}

/// A wait for a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) lock: *const Owner,
    pub(super) at: &'static Location<'static>,
}

// SAFETY: the lock is shared by all threads, and is reached as (3) says.
unsafe impl Send for Wait {}

impl Seat {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its thread waits.
    pub(super) fn wait(&self, wait: Wait) {
        self.state().wait = Some(wait);
    }

    /// Its thread waits no more.
    pub(super) fn wait_no_more(&self) {
        self.state().wait = None;
    }
}

/// Seats whose threads have ended.
static FREE: Mutex<Vec<&'static Seat>> = Mutex::new(Vec::new());

/// This thread's seat; none while it is made, should the allocator lock something.
pub(super) fn seat() -> Option<&'static Seat> {
    std::thread_local! {
        /// Null at first, and dangling while it is made. Nothing is dropped with it, so that locks
        /// can be used to the end.
        static SEAT: Cell<*mut Seat> = const { Cell::new(null_mut()) };
        /// Leaves the seat when the thread ends.
        static END: End = const { End };
    }
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            let seat = SEAT.replace(null_mut());
            // SAFETY: a seat, since it was made before this was used.
            if let Some(seat) = unsafe { seat.as_ref() } {
                free().push(seat);
            }
        }
    }
    let seat = SEAT.get();
    if seat.is_null() {
        SEAT.set(dangling_mut());
        let name = String::from(thread::current().name().unwrap_or("without a name"));
        let state = State { name, wait: None };
        let seat = match free().pop() {
            Some(seat) => {
                *seat.state() = state;
                seat
            }
            None => Box::leak(Box::new(Seat(Mutex::new(state)))),
        };
        SEAT.set(from_ref(seat).cast_mut());
        // If the thread is ending, nobody gets the seat after it.
        _ = END.try_with(|_| ());
        return Some(seat);
    }
    // SAFETY: a seat, if it is not being made.
    (seat != dangling_mut()).then(|| unsafe { &*seat })
}

fn free() -> MutexGuard<'static, Vec<&'static Seat>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread of a chain: it waits for a lock that the next one holds.
struct Waiter {
    seat: &'static Seat,
    name: String,
    lock: *const Owner,
    at: &'static Location<'static>,
    /// Where the lock was taken by the next one.
    taken: &'static Location<'static>,
}

/// The cycle that this thread's wait for a lock closes, in words.
pub(super) fn found(ours: &'static Seat, lock: &Owner) -> Option<String> {
    let first = chain(ours, lock)?;
    let second = chain(ours, lock)?;
    let same = |(one, other): (&Waiter, &Waiter)| {
        ptr::eq(one.seat, other.seat) && ptr::eq(one.lock, other.lock)
    };
    let both = first.iter().zip(&second);
    (first.len() == second.len() && both.into_iter().all(same)).then(|| in_words(&second))
}

/// Who waits for whom, if that comes back to us.
fn chain(ours: &'static Seat, lock: &Owner) -> Option<Vec<Waiter>> {
    let mut chain: Vec<Waiter> = Vec::new();
    let mut seat = ours;
    // Most locks are free, or nearly.
    lock.holder()?;
    loop {
        let next = {
            let state = seat.state();
            let Wait { lock, at } = state.wait?;
            // SAFETY: it waits for the lock as long as we have its state (3).
            let owner = unsafe { &*lock };
            let next = owner.holder()?;
            let name = state.name.clone();
            chain.push(Waiter { seat, name, lock, at, taken: owner.since() });
            next
        };
        if ptr::eq(next, ours) {
            return Some(chain);
        }
        // A cycle without us is another's to find.
        if chain.iter().any(|waiter| ptr::eq(waiter.seat, next)) {
            return None;
        }
        seat = next;
    }
}

fn in_words(chain: &[Waiter]) -> String {
    let mut words = format!(
        "deadlock: each of {} threads waits for a lock that the next one holds, the last one for \
         the first",
        chain.len()
    );
    for (place, waiter) in chain.iter().enumerate() {
        let before = if place == 0 { chain.len() - 1 } else { place - 1 };
        let held = &chain[before];
        words += &format!(
            "\n  thread '{}' holds the lock {:p} since {}, and waits for the lock {:p} at {}",
            waiter.name, held.lock, held.taken, waiter.lock, waiter.at
        );
    }
    words
}
