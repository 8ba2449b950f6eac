//! The wakers of tasks that wait, in order of arrival. Tasks and threads may wait at the same time:
//! a change wakes one of each.
//!
//! A task has a *ticket* while its waker is in the list, and keeps the ticket when a thread takes
//! the waker to wake it. So a ticket that is not in the list is a wake-up, and obliges the task to
//! look: the wake-up may be the only one for what has changed. A task passes the wake-up on if its
//! future is dropped, or if the task finds something before it notices the wake-up.
//!
//! ```text
//!   the task                                the thread that changes something
//!     puts its waker into the list            has changed it
//!     says that there are tasks               light barrier
//!     heavy barrier                           looks whether there are any:
//!     looks once more                           takes the first waker, and wakes the task
//! ```
//!
//! No wake-up is lost between the two columns, for the reason that is given in `news`.

use alloc::collections::VecDeque;
use core::mem;
use core::sync::atomic::Ordering::Relaxed;
use core::task::Waker;

use crate::Mutex;
use crate::lock::Futex;
use crate::memory::{Memory, Word};
use crate::wait::Park;

/// The bit of the number of sleepers that says that tasks wait as well.
pub const TASKS: u32 = 1 << 31;

/// The tasks that wait for messages, or for room.
#[derive(Default)]
pub struct Wakers<M: Memory> {
    list: Mutex<List, Futex<Park, M>>,
}

#[derive(Default)]
struct List {
    /// The last ticket.
    last: u64,
    waiting: VecDeque<(u64, Waker)>,
}

impl<M: Memory> Wakers<M> {
    /// Wakes up to this many tasks. `count` is the word with the bit [`TASKS`].
    #[cold]
    pub fn wake(&self, most: u32, count: &M::Word) {
        for _ in 0..most {
            // The lock is not held here: waking the task may poll it in this thread.
            let Some(waker) = self.first(count) else { break };
            waker.wake();
        }
    }

    /// Takes the first waker.
    fn first(&self, count: &M::Word) -> Option<Waker> {
        let mut list = self.list.lock();
        let (_, waker) = list.waiting.pop_front()?;
        if list.waiting.is_empty() {
            // Relaxed: a thread that still sees the bit finds an empty list.
            count.fetch_and(!TASKS, Relaxed);
        }
        Some(waker)
    }

    /// Looks on behalf of a task. If that finds nothing, the task has a ticket, and its waker is in
    /// the list.
    #[cold]
    pub fn poll<R>(
        &self,
        ticket: &mut Option<u64>,
        waker: &Waker,
        count: &M::Word,
        mut look: impl FnMut() -> Option<R>,
    ) -> Option<R> {
        if ticket.is_some_and(|ticket| self.is_woken_up(ticket, waker)) {
            // This is the look that the wake-up asks for.
            *ticket = None;
        }
        if let Some(found) = look() {
            self.leave(ticket, count);
            return Some(found);
        }
        if ticket.is_some() {
            return None;
        }
        *ticket = Some(self.enter(waker, count));
        M::heavy_barrier();
        let found = look()?;
        self.leave(ticket, count);
        Some(found)
    }

    /// Puts a waker at the end, and returns its ticket.
    fn enter(&self, waker: &Waker, count: &M::Word) -> u64 {
        let mut list = self.list.lock();
        list.last += 1;
        let ticket = list.last;
        list.waiting.push_back((ticket, waker.clone()));
        // Relaxed: the barrier orders it before the look.
        count.fetch_or(TASKS, Relaxed);
        ticket
    }

    /// Whether the ticket's waker was taken. If not, `waker` replaces it.
    fn is_woken_up(&self, ticket: u64, waker: &Waker) -> bool {
        let mut list = self.list.lock();
        let mut waiting = list.waiting.iter_mut();
        let Some((_, held)) = waiting.find(|(number, _)| *number == ticket) else { return true };
        let earlier =
            if held.will_wake(waker) { None } else { Some(mem::replace(held, waker.clone())) };
        // Dropping a waker may drop its task and ends of this channel. Those need the list.
        drop(list);
        drop(earlier);
        false
    }

    /// Gives a ticket back, if there is one. A wake-up that has come for it goes to another task.
    #[cold]
    pub fn leave(&self, ticket: &mut Option<u64>, count: &M::Word) {
        let Some(ticket) = ticket.take() else { return };
        if self.remove(ticket, count).is_none() {
            self.wake(1, count);
        }
    }

    /// Takes the waker with this ticket, if it is there.
    fn remove(&self, ticket: u64, count: &M::Word) -> Option<Waker> {
        let mut list = self.list.lock();
        let place = list.waiting.iter().position(|(number, _)| *number == ticket)?;
        let removed = list.waiting.remove(place);
        if list.waiting.is_empty() {
            // Relaxed: as above.
            count.fetch_and(!TASKS, Relaxed);
        }
        removed.map(|(_, waker)| waker)
    }
}
