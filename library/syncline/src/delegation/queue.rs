//! The delegation queue: an array of requests and a counter, filled while the queue is open.
//!
//! The helper opens the queue, others enter requests, and the helper runs them in order. When it
//! finds no more, or the array is full, it closes the queue, and later turns begin with an empty
//! one. A thread that finds the queue closed or full must get its request run in another way. So
//! entering takes one fetch-and-add, and a turn is bounded.
//!
//! ```text
//!   state   0 + n       closed; n has no meaning (it counts threads that came too late)
//!           OPEN + n    n requests were entered, if there is room for them
//! ```
//!
//! Source: the "tantrum queue" of Klaftenegger, Sagonas and Winblad, "Queue Delegation Locking",
//! IEEE TPDS 29 (2018), section 3.

use core::array;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use super::request::Request;
use crate::memory::{Link, Memory, Padded, Word};
use crate::wait::Wait;

const OPEN: u32 = 1 << 31;

/// A queue of up to `SLOTS` requests.
pub(super) struct Queue<M: Memory, const SLOTS: usize> {
    state: Padded<M::Word>,
    slots: [M::Link<Request<M>>; SLOTS],
}

impl<M: Memory, const SLOTS: usize> Default for Queue<M, SLOTS> {
    fn default() -> Self {
        Self { state: Padded::default(), slots: array::from_fn(|_| M::Link::default()) }
    }
}

// SAFETY: words and links and nothing else; zero is a closed queue, whose slots are empty.
unsafe impl<M: Memory, const SLOTS: usize> Zeroable for Queue<M, SLOTS>
where
    M::Word: Zeroable,
    M::Link<Request<M>>: Zeroable,
{
}

impl<M: Memory, const SLOTS: usize> Queue<M, SLOTS> {
    /// The most requests that a turn serves.
    const LIMIT: u32 = if M::BATCH < SLOTS as u32 { M::BATCH } else { SLOTS as u32 };

    /// Opens the queue, so that others can enter requests. The caller holds the lock, and the queue
    /// is closed.
    #[inline]
    pub(super) fn open(&self) {
        // Release: pairs with the Acquire in `enter`: the slots are empty. A swap, so that the
        // addition of a thread that finds the queue closed comes before this in the word's
        // modification order, for a checker as well.
        self.state.swap(OPEN, Release);
    }

    /// Whether others may enter requests. The caller holds the lock.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        // Relaxed: only holders open and close it.
        self.state.load(Relaxed) & OPEN != 0
    }

    /// Enters a request and returns `true`, or returns `false` if the queue is closed or full.
    ///
    /// # Safety
    ///
    /// The request stays until it has been run.
    #[inline]
    pub(super) unsafe fn enter(&self, request: &Request<M>) -> bool {
        let has_room = |state: u32| state & OPEN != 0 && state & !OPEN < Self::LIMIT;
        // Relaxed: a hint. It avoids useless writes that disturb the others, and an overflow of the
        // counter.
        if !has_room(self.state.load(Relaxed)) {
            return false;
        }
        // Acquire: pairs with the Release in `open`.
        let state = self.state.fetch_add(1, Acquire);
        if !has_room(state) {
            return false;
        }
        // Release: pairs with the Acquire in `leave`: the request, and what its caller did.
        self.slots[(state & !OPEN) as usize].store(Some(M::refer(request)), Release);
        true
    }

    /// Passes the requests to a function until there are no more, or the limit is reached, and
    /// closes the queue. The caller holds the lock, and the queue is open.
    #[inline]
    pub(super) fn serve<W: Wait>(&self, serve: impl Fn(M::Ref<Request<M>>)) {
        let entered = |state: u32| (state & !OPEN).min(Self::LIMIT);
        let mut served = 0;
        let mut open = true;
        while open {
            // Relaxed: the slots order. The counter only says which of them are, or will be, full.
            let mut end = entered(self.state.load(Relaxed));
            if end == served || end == Self::LIMIT {
                // Relaxed: as above; a thread that finds the queue closed writes no slot.
                end = entered(self.state.swap(0, Relaxed));
                open = false;
            }
            while served < end {
                serve(self.leave::<W>(served));
                served += 1;
            }
        }
    }

    /// Takes a request out of a slot into which it was put, or is about to be put.
    fn leave<W: Wait>(&self, slot: u32) -> M::Ref<Request<M>> {
        let slot = &self.slots[slot as usize];
        let mut looks = 0;
        loop {
            // Acquire: pairs with the Release in `enter`.
            if let Some(request) = slot.load(Acquire) {
                // Relaxed: the next opening publishes it.
                slot.store(None, Relaxed);
                return request;
            }
            looks += 1;
            W::pause_at::<M, _>(slot, looks);
        }
    }
}
