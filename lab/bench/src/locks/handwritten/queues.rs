//! Locks with an order, written plainly: those with numbers, and those with queues whose nodes
//! outlive an acquisition. For [`super::super::instructions`] only.

use std::arch::asm;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32};

use super::super::arena::Lock;
use super::{FREE, Futex, HELD, Mcs, Node};

/// A ticket lock whose waiters fetch the served number for writing.
#[derive(Default)]
pub struct PrefetchingTicket {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Lock for PrefetchingTicket {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        let mine = self.next.fetch_add(2, Relaxed);
        loop {
            fetch_for_writing(&self.serving);
            if self.serving.load(Acquire) == mine {
                break;
            }
            spin_loop();
        }
        let result = section();
        fetch_for_writing(&self.serving);
        self.serving.store(self.serving.load(Relaxed).wrapping_add(2), Release);
        result
    }
}

#[inline(always)]
fn fetch_for_writing(word: &AtomicU32) {
    // SAFETY: a prefetch accesses nothing.
    unsafe { asm!("prefetchw [{}]", in(reg) word, options(nostack, preserves_flags, readonly)) };
}

const SLOTS: usize = 16;

/// Anderson's array lock.
#[derive(Default)]
pub struct Anderson {
    next: AtomicU32,
    slots: [Slot; SLOTS],
}

#[derive(Default)]
#[repr(align(128))]
struct Slot(AtomicU32);

impl Lock for Anderson {
    type Thread = u32;

    #[inline(always)]
    fn with<R: Send>(&self, ticket: &mut u32, section: impl FnOnce() -> R + Send) -> R {
        let mine = self.next.fetch_add(2, Relaxed);
        while self.slots[(mine / 2) as usize % SLOTS].0.load(Acquire) != mine {
            spin_loop();
        }
        *ticket = mine;
        let result = section();
        let next = ticket.wrapping_add(2);
        self.slots[(next / 2) as usize % SLOTS].0.store(next, Release);
        result
    }
}

/// A thread's queue nodes: the enqueued one, and a spare one. They are in cells, since a lock
/// accesses its nodes through shared references.
pub struct Places<P> {
    enqueued: Cell<*mut P>,
    spare: Cell<*mut P>,
}

impl<P> Default for Places<P> {
    fn default() -> Self {
        Self { enqueued: Cell::new(ptr::null_mut()), spare: Cell::new(ptr::null_mut()) }
    }
}

impl<P: Default> Places<P> {
    #[inline(always)]
    pub fn take(&self) -> *mut P {
        let mut place = self.spare.replace(ptr::null_mut());
        if place.is_null() {
            place = fresh();
        }
        self.enqueued.set(place);
        place
    }

    #[inline(always)]
    pub fn enqueued(&self) -> *mut P {
        self.enqueued.get()
    }

    #[inline(always)]
    pub fn keep(&self, place: *mut P) {
        let other = self.spare.replace(place);
        if !other.is_null() {
            free(other);
        }
    }
}

#[cold]
fn fresh<P: Default>() -> *mut P {
    Box::into_raw(Box::default())
}

#[cold]
fn free<P>(place: *mut P) {
    // SAFETY: it comes from `fresh`, and no other thread has it.
    drop(unsafe { Box::from_raw(place) });
}

const WAITING: u32 = 0;
const RELEASED: u32 = 2;

/// The CLH queue lock.
#[derive(Default)]
pub struct Clh(AtomicPtr<AtomicU32>);

impl Lock for Clh {
    type Thread = Places<AtomicU32>;

    #[inline(always)]
    fn with<R: Send>(
        &self,
        places: &mut Places<AtomicU32>,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        let mine = places.take();
        // SAFETY: it is this thread's until it is released, and so is the previous one until that
        // was seen.
        unsafe { (*mine).store(WAITING, Relaxed) };
        let previous = self.0.swap(mine, AcqRel);
        if !previous.is_null() {
            // SAFETY: as above.
            while unsafe { (*previous).load(Acquire) } != RELEASED {
                spin_loop();
            }
            places.keep(previous);
        }
        let result = section();
        // SAFETY: as above.
        unsafe { (*places.enqueued()).store(RELEASED, Release) };
        result
    }
}

/// A node of a queue that waiters can leave.
#[derive(Default)]
pub struct Place {
    next: AtomicPtr<Place>,
    state: AtomicU32,
}

const LEFT: u32 = 2;
/// The grant that makes a waiter the first.
pub const FIRST: u32 = 4;

/// The MCS lock whose waiters can give up; here none does.
#[derive(Default)]
pub struct TimedMcs(AtomicPtr<Place>);

impl TimedMcs {
    #[inline(always)]
    pub fn acquire(&self, places: &Places<Place>) {
        self.join(places);
    }

    /// Waits to become the first, and returns what was granted.
    #[inline(always)]
    pub fn join(&self, places: &Places<Place>) -> u32 {
        let mine = places.take();
        // SAFETY: it is this thread's until the hand-over; the previous node lives until its thread
        // has seen the link.
        unsafe {
            (*mine).next.store(ptr::null_mut(), Relaxed);
            (*mine).state.store(WAITING, Relaxed);
            let previous = self.0.swap(mine, AcqRel);
            if previous.is_null() {
                return FIRST;
            }
            (*previous).next.store(mine, Release);
            while (*mine).state.load(Acquire) < FIRST {
                spin_loop();
            }
            (*mine).state.load(Relaxed)
        }
    }

    /// A word that the first waiter may use.
    #[inline(always)]
    pub fn note(places: &Places<Place>) -> &AtomicU32 {
        // SAFETY: it is this thread's until the hand-over.
        unsafe { &(*places.enqueued()).state }
    }

    /// Hands over to the next waiter that has not left, if there is one.
    #[inline(always)]
    pub fn pass(&self, places: &Places<Place>, granted: u32) -> bool {
        // SAFETY: it is this thread's until the hand-over, and so are the nodes that were left.
        unsafe {
            loop {
                let mine = places.enqueued();
                let next = (*mine).next.load(Acquire);
                if next.is_null() {
                    return false;
                }
                let left = (*next).state.swap(granted, AcqRel) == LEFT;
                places.keep(mine);
                if !left {
                    return true;
                }
                places.enqueued.set(next);
            }
        }
    }

    /// Whether a thread is linked behind the holder.
    #[inline(always)]
    pub fn is_followed(&self, places: &Places<Place>) -> bool {
        // SAFETY: it is this thread's until the hand-over.
        !unsafe { (*places.enqueued()).next.load(Relaxed) }.is_null()
    }

    #[inline(always)]
    pub fn release(&self, places: &Places<Place>) {
        self.leave(places, FIRST);
    }

    #[inline(always)]
    pub fn leave(&self, places: &Places<Place>, granted: u32) {
        let mut mine = places.enqueued();
        // SAFETY: it is this thread's until the hand-over, and so are the nodes that were left. The
        // next node lives until the hand-over to it.
        unsafe {
            let Some(mut next) = self.behind(mine) else { return places.keep(mine) };
            loop {
                let left = (*next).state.swap(granted, AcqRel) == LEFT;
                places.keep(mine);
                if !left {
                    return;
                }
                mine = next;
                let Some(one) = self.behind(mine) else { return places.keep(mine) };
                next = one;
            }
        }
    }

    #[inline(always)]
    unsafe fn behind(&self, mine: *mut Place) -> Option<*mut Place> {
        // SAFETY: our caller's promise.
        let mut next = unsafe { (*mine).next.load(Acquire) };
        if next.is_null() {
            if self.0.compare_exchange(mine, ptr::null_mut(), Release, Relaxed).is_ok() {
                return None;
            }
            while next.is_null() {
                spin_loop();
                // SAFETY: as above.
                next = unsafe { (*mine).next.load(Acquire) };
            }
        }
        Some(next)
    }
}

impl Lock for TimedMcs {
    type Thread = Places<Place>;

    #[inline(always)]
    fn with<R: Send>(&self, places: &mut Places<Place>, section: impl FnOnce() -> R + Send) -> R {
        self.acquire(places);
        let result = section();
        self.release(places);
        result
    }
}

/// A node of a queue in which each waiter polls the node before its own.
#[derive(Default)]
pub struct Link {
    previous: AtomicPtr<Link>,
    state: AtomicU32,
}

/// The CLH lock whose waiters can give up; here none does.
#[derive(Default)]
pub struct TimedClh(AtomicPtr<Link>);

impl Lock for TimedClh {
    type Thread = Places<Link>;

    #[inline(always)]
    fn with<R: Send>(&self, places: &mut Places<Link>, section: impl FnOnce() -> R + Send) -> R {
        let mine = places.take();
        // SAFETY: it is this thread's until it is released; those before it until that was seen.
        unsafe {
            (*mine).previous.store(ptr::null_mut(), Relaxed);
            (*mine).state.store(WAITING, Relaxed);
            let mut previous = self.0.swap(mine, AcqRel);
            while !previous.is_null() {
                while (*previous).state.load(Acquire) != RELEASED {
                    spin_loop();
                }
                let beyond = (*previous).previous.load(Relaxed);
                if beyond.is_null() {
                    places.keep(previous);
                } else {
                    free(previous);
                }
                previous = beyond;
            }
        }
        let result = section();
        let mine = places.enqueued();
        if self.0.compare_exchange(mine, ptr::null_mut(), AcqRel, Relaxed).is_ok() {
            places.keep(mine);
        } else {
            // SAFETY: it is this thread's until it is released.
            unsafe { (*mine).state.store(RELEASED, Release) };
        }
        result
    }
}

const SLEEPS: u32 = 1;

/// A word that any thread may take, before a queue of waiters.
#[derive(Default)]
pub struct Gate {
    word: AtomicU32,
    queue: Mcs,
}

impl Lock for Gate {
    type Thread = ();

    #[inline(always)]
    fn with<R: Send>(&self, _: &mut (), section: impl FnOnce() -> R + Send) -> R {
        if self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.contend();
        }
        let result = section();
        if self.word.fetch_sub(HELD, Release) != HELD {
            Futex::wake(&self.word);
        }
        result
    }
}

impl Gate {
    #[cold]
    fn contend(&self) {
        self.queue.with(&mut Node::default(), || {
            loop {
                let value = self.word.load(Relaxed);
                let (held, asleep) = (value & HELD != 0, value | SLEEPS);
                let new = if held { asleep } else { HELD };
                let changed = self.word.compare_exchange(value, new, Acquire, Relaxed).is_ok();
                if changed && !held {
                    return;
                }
                if changed {
                    Futex::wait(&self.word, asleep);
                }
            }
        });
    }
}
