//! A part's lock of two levels: one in each host, and one between the hosts.
//!
//! A rank that wants the part takes its host's lock first, and then the lock between hosts. A
//! reader takes the lock between hosts for itself, a writer for its host. A writer that releases
//! the part leaves the lock between hosts to its host if other ranks of the host wait, at most
//! [`Memory::BATCH`] times in a row. Then the host's next writer need not acquire that lock, and
//! sends no message.
//!
//! ```text
//!   hold    2 bits  NONE | BUSY | EXCLUSIVE: the host's hold on the lock between hosts
//!           30 bits how many times in a row a writer left that lock to the host
//!
//!   writer  NONE -> EXCLUSIVE -> NONE    alone in its host, so no other rank changes the word
//!           EXCLUSIVE -> EXCLUSIVE       leaves it to a waiter
//!   reader  EXCLUSIVE -> BUSY -> NONE    gives up the hold, so that readers of other hosts can enter
//! ```
//!
//! Readers do not use the exclusive hold that a writer has left to the host, since it would keep
//! readers of other hosts out. A reader inside may wait for another reader, so the other one must
//! be able to enter.
//!
//! Source: Dice, Marathe and Shavit, "Lock Cohorting" (PPoPP 2012), for the two levels and the
//! bound; Calciu et al., "NUMA-Aware Reader-Writer Locks" (PPoPP 2013), for cohorts of writers
//! only.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use crate::lock::RawSharedLock;
use crate::memory::{Memory, Native, Word};
use crate::wait::{Wait, Yield};

const NONE: u32 = 0;
const BUSY: u32 = 1;
const EXCLUSIVE: u32 = 2;
const MODE: u32 = 3;
const PASS: u32 = 4;

/// A host's hold on a part's lock between hosts, and the number of the host's ranks that wait for
/// the part. If both words are zero, the host has no hold on that lock, and no rank waits.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Hold<W: Wait = Yield, M: Memory = Native> {
    word: M::Word,
    waiting: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: there are only words, which may be zero.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Hold<W, M> {}

impl<W: Wait, M: Memory> Hold<W, M> {
    /// Whether ranks of the host wait for the part.
    pub(super) fn is_waited_for(&self) -> bool {
        // Relaxed: a hint. If a waiting rank is seen, the lock between hosts may be left to the
        // host, and the host's next rank finds it held. Otherwise, that rank acquires the lock
        // again.
        self.waiting.load(Relaxed) != 0
    }
}

/// The lock between hosts. If it was acquired exclusively, it belongs to the host, and another rank
/// of the host may release it. A share belongs to the caller.
pub trait Between {
    /// Why the lock can't be acquired.
    type Refusal;

    /// Waits for the lock. If `exclusive` is set, takes it for the host, else shares it for the
    /// caller. Has Acquire ordering.
    ///
    /// # Errors
    ///
    /// If the lock can't be acquired any more.
    fn acquire(&self, exclusive: bool) -> Result<(), Self::Refusal>;

    /// Releases the lock, which was acquired with the same `exclusive`. Has Release ordering.
    fn release(&self, exclusive: bool);
}

/// One part's lock, as the ranks of a host use it.
#[derive(Debug)]
pub struct Hierarchical<'a, W: Wait, L: RawSharedLock, B> {
    /// The host's lock.
    pub local: &'a L,
    /// The host's hold on the lock between hosts.
    pub hold: &'a Hold<W, L::Memory>,
    /// The lock between hosts.
    pub between: B,
}

impl<W: Wait, L: RawSharedLock, B: Between> Hierarchical<'_, W, L, B> {
    /// Waits for the part, and takes it exclusively.
    ///
    /// # Errors
    ///
    /// If the lock between hosts can't be acquired. Then nothing is held.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`](crate::lock::RawLock::acquire), with
    /// [`release`](Self::release) as the release.
    pub unsafe fn acquire(&self, node: &L::Node) -> Result<(), B::Refusal> {
        // Relaxed: a hint to ranks that release the part. If a writer of this host sees it, the
        // writer may leave the lock between hosts to the host.
        self.hold.waiting.fetch_add(1, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { self.local.acquire(node) };
        self.hold.waiting.fetch_sub(1, Relaxed);
        // Relaxed: changed by earlier holders of the local lock.
        if self.hold.word.load(Relaxed) & MODE == EXCLUSIVE {
            return Ok(());
        }
        let acquired = self.between.acquire(true);
        match &acquired {
            // Relaxed: the release of the local lock carries it on.
            Ok(()) => self.hold.word.store(EXCLUSIVE, Relaxed),
            // SAFETY: it is held with this node.
            Err(_) => unsafe { self.local.release(node) },
        }
        acquired
    }

    /// Releases the part, which this rank holds alone.
    ///
    /// # Safety
    ///
    /// The part is held, and was acquired with this node.
    pub unsafe fn release(&self, node: &L::Node) {
        // Relaxed: this rank is alone in its host.
        let hold = self.hold.word.load(Relaxed);
        if self.may_pass(hold) {
            self.hold.word.store(hold + PASS, Relaxed);
        } else {
            self.hold.word.store(NONE, Relaxed);
            self.between.release(true);
        }
        // SAFETY: our caller's promise.
        unsafe { self.local.release(node) };
    }

    /// Waits until no rank holds the part alone, and shares it.
    ///
    /// # Errors
    ///
    /// Same errors as [`acquire`](Self::acquire).
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], with
    /// [`release_shared`](Self::release_shared) as the release.
    pub unsafe fn acquire_shared(&self, node: &L::SharedNode) -> Result<(), B::Refusal> {
        // Relaxed: as in `acquire`.
        self.hold.waiting.fetch_add(1, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { self.local.acquire_shared(node) };
        self.hold.waiting.fetch_sub(1, Relaxed);
        self.give_up();
        let acquired = self.between.acquire(false);
        if acquired.is_err() {
            // SAFETY: it is shared with this node.
            unsafe { self.local.release_shared(node) };
        }
        acquired
    }

    /// Gives up this rank's share of the part.
    ///
    /// # Safety
    ///
    /// The share is held, and was acquired with this node.
    pub unsafe fn release_shared(&self, node: &L::SharedNode) {
        self.between.release(false);
        // SAFETY: our caller's promise.
        unsafe { self.local.release_shared(node) };
    }

    /// Releases the lock between hosts if a writer has left it to the host. One of the readers
    /// releases it, and the others wait until it is released.
    fn give_up(&self) {
        let word = &self.hold.word;
        let mut looks = 0;
        loop {
            // Acquire: pairs with the Release below: the host's hold is released.
            let hold = word.load(Acquire);
            match hold & MODE {
                NONE => return,
                // Relaxed: acquiring the local lock has made the writer's changes visible.
                EXCLUSIVE if word.exchange(hold, BUSY, Relaxed).is_ok() => {
                    self.between.release(true);
                    // Release: pairs with the Acquire above.
                    word.store(NONE, Release);
                    return;
                }
                _ => {
                    looks += 1;
                    W::pause_at::<L::Memory, _>(word, looks);
                }
            }
        }
    }

    /// Whether a writer that releases the part may leave the lock between hosts to others of its
    /// host.
    fn may_pass(&self, hold: u32) -> bool {
        hold / PASS < L::Memory::BATCH && self.hold.is_waited_for()
    }
}
