//! The ticket lock: a waiter draws a number and waits until it is served.
//!
//! The lock needs two words, and serves waiters in order of arrival. All waiters watch the word
//! that says which ticket is served, so each hand-over makes all of them fetch its line again. But
//! a waiter knows its position in the queue, so it can stay away from the line for a time
//! proportional to the number of threads before it ([`Approach`]). Uncontended, the lock is as
//! quick as a spinlock. With many waiters per lock use a queue lock, where each waits on a line of
//! its own.
//!
//! Source: Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors" (1991), Algorithm 2; SSYNC (SOSP'13), sections 4.1 and 5.3.

use core::fmt::Debug;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use bytemuck::Zeroable;

use super::about::{About, Algorithm, Described, Order};
use super::raw::{Contended, RawLock, TryLock};
use crate::memory::{Memory, Native, Word};
use crate::wait::{PARKED, Park, Wait};

/// The step by which tickets and the served number grow. It leaves bit 0 to the waiting policy.
const STEP: u32 = 2;

/// The ticket lock.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Ticket<W: Wait = Park, M: Memory = Native, A: Approach = Proportional> {
    /// The next ticket to be drawn.
    next: M::Word,
    /// The ticket that holds the lock, or may take it. Only the lock's holder changes it.
    serving: M::Word,
    policies: PhantomData<(W, A)>,
}

/// The ticket lock whose waiters fetch the served number for writing.
pub type PrefetchingTicket<W = Park, M = Native> = Ticket<W, M, Prefetching>;

/// How a waiter looks at the served number.
pub trait Approach: Debug + Default + Send + Sync + 'static {
    /// What the lock is, in one line, for the catalogue.
    const IDEA: &'static str;

    /// Fetches the line of the served number. Called right before each look at the number, by
    /// waiters until they begin to sleep, and by the releasing holder.
    #[inline(always)]
    fn fetch<M: Memory>(_: &M::Word) {}

    /// Called after each look without success. `ahead` is the number of threads before this one,
    /// including the holder.
    #[inline(always)]
    fn stay_away<M: Memory>(ahead: u32) {
        // The holder is not counted: it may release at any moment.
        M::delay(ahead - 1);
    }
}

/// Adds nothing to the pauses of the waiting policy: no back-off. This is the textbook lock, for
/// comparison.
#[derive(Debug, Default)]
pub struct Eager;

impl Approach for Eager {
    const IDEA: &'static str =
        "waiters draw a number and watch the one that is served, all the time";

    #[inline(always)]
    fn stay_away<M: Memory>(_: u32) {}
}

/// Stays away for the shortest time in which the waiters ahead can be served.
#[derive(Debug, Default)]
pub struct Proportional;

impl Approach for Proportional {
    const IDEA: &'static str = "waiters draw a number and watch the one that is served";
}

/// Like [`Proportional`], but waiters and the releasing holder fetch the line for writing before
/// they look at it, so that it is never shared. On machines where writing to a shared line costs a
/// broadcast, as on the Opteron, the lock is then up to twice as fast.
#[derive(Debug, Default)]
pub struct Prefetching;

impl Approach for Prefetching {
    const IDEA: &'static str = "as the ticket lock; waiters fetch what they watch for writing";

    #[inline(always)]
    fn fetch<M: Memory>(serving: &M::Word) {
        M::prefetch_for_write(serving);
    }
}

// SAFETY: the lock is two words and nothing else, so it may be zero if words may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>, A: Approach> Zeroable for Ticket<W, M, A> {}

// SAFETY: tickets are unique until they wrap around after 2^31 waiters, and only the thread whose
// ticket is served returns from `acquire`. Holders are ordered by `serving`: Acquire in `wait` and
// in `try_acquire`, Release in `advance`.
unsafe impl<W: Wait, M: Memory, A: Approach> RawLock for Ticket<W, M, A> {
    type Memory = M;
    type Node = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        // Relaxed: the draw orders draws only; `serving` carries what holders did.
        let mine = self.next.fetch_add(STEP, Relaxed);
        W::wait_fetching::<M>(&self.serving, mine / STEP, None, A::fetch::<M>, |serving| {
            if serving == mine {
                return true;
            }
            A::stay_away::<M>(mine.wrapping_sub(serving) / STEP);
            false
        });
    }

    #[inline]
    unsafe fn release(&self, node: &()) {
        // A waiter may have fetched the line while we held the lock.
        A::fetch::<M>(&self.serving);
        // Relaxed: only the holder, this thread, changes the number; others only set the mark of
        // sleepers.
        let mine = W::unmarked(self.serving.load(Relaxed));
        // SAFETY: our caller holds the lock.
        let last = W::SLEEPS && !unsafe { self.is_contended(node) };
        W::advance::<M>(&self.serving, mine, last);
    }
}

// SAFETY: as above. If the next ticket to be drawn is the one served, no thread holds the lock or
// waits, and drawing that ticket takes the lock.
unsafe impl<W: Wait, M: Memory, A: Approach> TryLock for Ticket<W, M, A> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        // Acquire: pairs with the Release of `advance`.
        let serving = self.serving.load(Acquire) & !PARKED;
        // Relaxed: as the draw in `acquire`.
        self.next.exchange(serving, serving.wrapping_add(STEP), Relaxed).is_ok()
    }
}

// SAFETY: a thread that has drawn a ticket after the holder's waits until it is served.
unsafe impl<W: Wait, M: Memory, A: Approach> Contended for Ticket<W, M, A> {
    #[inline]
    unsafe fn is_contended(&self, (): &()) -> bool {
        // Relaxed: a hint. While we hold the lock, `serving` stays and `next` only grows.
        let mine = self.serving.load(Relaxed) & !PARKED;
        self.next.load(Relaxed) != mine.wrapping_add(STEP)
    }
}

impl<W: Wait, M: Memory, A: Approach> Described for Ticket<W, M, A> {
    const ABOUT: About = About {
        idea: A::IDEA,
        algorithm: Algorithm::Ticket,
        order: Order::Fifo,
        numa: false,
        advice: "fair, small, and quick while few wait for one lock",
        source: "Mellor-Crummey and Scott 1991; SSYNC 4.1, 5.3",
    };
}
