//! A part's lock of two levels: one in each host, and one between the hosts.
//!
//! Who wants the part takes its host's lock first. Then the host must have the lock between hosts; who
//! finds that it does not acquires it in the host's name. Who leaves keeps it for those of its host
//! who wait, at most [`Memory::BATCH`] times in a row; so others of the host need no message.
//!
//! ```text
//!   hold    2 bits  NONE | BUSY | SHARED | EXCLUSIVE: what the host has of the lock between hosts
//!           15 bits readers of this host that use it
//!           15 bits how often it was passed on
//!
//!   reader  NONE -> BUSY -> SHARED,1     acquires it
//!           s,r -> s,r+1                 the host has it; not once it was passed on too often
//!           s,1 -> s,0                   leaves it to who waits
//!           s,1 -> BUSY -> NONE          gives it up
//!   writer  NONE -> EXCLUSIVE -> NONE    alone in its host, so nobody else changes the word
//! ```
//!
//! Readers of a host may follow each other for ever without a wait, so readers count as passing it on:
//! when that was often enough, those who come wait until the last one has given it up.
//!
//! Source: Dice, Marathe and Shavit, "Lock Cohorting" (PPoPP 2012), for the two levels and the bound;
//! the reader's side is as in Calciu et al., "NUMA-Aware Reader-Writer Locks" (PPoPP 2013), but that
//! the readers of a host hold the lock between hosts together.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use bytemuck::Zeroable;

use crate::lock::RawSharedLock;
use crate::memory::{Memory, Native, Word};
use crate::wait::{Wait, Yield};

const NONE: u32 = 0;
const BUSY: u32 = 1;
const SHARED: u32 = 2;
const EXCLUSIVE: u32 = 3;
const MODE: u32 = 3;
const READER: u32 = 1 << 2;
const PASS: u32 = 1 << 17;
const READERS: u32 = PASS - READER;

/// What a host has of a part's lock between hosts, and how many of the host wait for the part. All zero
/// is nothing.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Hold<W: Wait = Yield, M: Memory = Native> {
    word: M::Word,
    waiting: M::Word,
    wait: PhantomData<W>,
}

// SAFETY: words and nothing else, so it may be zero when they may.
unsafe impl<W: Wait, M: Memory<Word: Zeroable>> Zeroable for Hold<W, M> {}

/// The lock between hosts, as a host uses it: it can be released by another of the host's ranks than the
/// one that acquired it.
pub trait Between {
    /// Why it can't be acquired.
    type Refusal;

    /// Waits for the lock, and takes or shares it for the host. Has Acquire ordering.
    ///
    /// # Errors
    ///
    /// If it can't be had any more.
    fn acquire(&self, exclusive: bool) -> Result<(), Self::Refusal>;

    /// Gives it back. Has Release ordering.
    fn release(&self, exclusive: bool);
}

/// One part's lock, as the ranks of a host use it.
#[derive(Debug)]
pub struct Hierarchical<'a, W: Wait, L: RawSharedLock, B> {
    /// The host's lock.
    pub local: &'a L,
    /// What the host has of the other one.
    pub hold: &'a Hold<W, L::Memory>,
    /// The lock between hosts.
    pub between: B,
}

impl<W: Wait, L: RawSharedLock, B: Between> Hierarchical<'_, W, L, B> {
    /// Waits for the part, and takes it.
    ///
    /// # Errors
    ///
    /// If the lock between hosts can't be had. Then nothing is held.
    ///
    /// # Safety
    ///
    /// As for [`RawLock::acquire`](crate::lock::RawLock::acquire), with [`release`](Self::release).
    pub unsafe fn acquire(&self, node: &L::Node) -> Result<(), B::Refusal> {
        // Relaxed: a hint to those who leave; whoever sees it leaves something that is found here.
        self.hold.waiting.fetch_add(1, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { self.local.acquire(node) };
        self.hold.waiting.fetch_sub(1, Relaxed);
        // Relaxed: changed by those who held the local lock before.
        let mode = self.hold.word.load(Relaxed) & MODE;
        if mode == EXCLUSIVE {
            return Ok(());
        }
        if mode == SHARED {
            // Readers have left it, and no other comes before this one has gone.
            self.hold.word.store(NONE, Relaxed);
            self.between.release(false);
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

    /// Ends a writer's turn.
    ///
    /// # Safety
    ///
    /// The part is held, and was acquired with this node.
    pub unsafe fn release(&self, node: &L::Node) {
        // Relaxed: this one is alone in its host.
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

    /// Waits until nobody holds the part alone, and shares it.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Self::acquire).
    ///
    /// # Safety
    ///
    /// As for [`RawSharedLock::acquire_shared`], with [`release_shared`](Self::release_shared).
    pub unsafe fn acquire_shared(&self, node: &L::SharedNode) -> Result<(), B::Refusal> {
        // Relaxed: as in `acquire`.
        self.hold.waiting.fetch_add(1, Relaxed);
        // SAFETY: our caller's promise.
        unsafe { self.local.acquire_shared(node) };
        self.hold.waiting.fetch_sub(1, Relaxed);
        let used = self.use_between();
        if used.is_err() {
            // SAFETY: it is shared with this node.
            unsafe { self.local.release_shared(node) };
        }
        used
    }

    /// Has this reader use what its host has of the lock between hosts.
    fn use_between(&self) -> Result<(), B::Refusal> {
        let word = &self.hold.word;
        let mut looks = 0;
        loop {
            // Relaxed: a look; the exchange orders.
            let hold = word.load(Relaxed);
            let passes = hold / PASS;
            match hold & MODE {
                // Acquire: pairs with the Release of who gave it up.
                NONE if word.exchange(hold, BUSY, Acquire).is_ok() => {
                    let acquired = self.between.acquire(false);
                    let now = if acquired.is_ok() { SHARED + READER } else { NONE };
                    // Release: pairs with the Acquire of the other readers.
                    word.store(now, Release);
                    return acquired;
                }
                // Acquire: pairs with the Release of who acquired it.
                SHARED | EXCLUSIVE
                    if passes < L::Memory::BATCH
                        && word.exchange(hold, hold + READER + PASS, Acquire).is_ok() =>
                {
                    return Ok(());
                }
                // It was left to one who waits, and that was this one, too late.
                SHARED | EXCLUSIVE if passes >= L::Memory::BATCH && hold & READERS == 0 => {
                    self.give_up(hold);
                }
                _ => {
                    looks += 1;
                    W::pause_at::<L::Memory, _>(word, looks);
                }
            }
        }
    }

    /// Ends a reader's turn.
    ///
    /// # Safety
    ///
    /// This node's share is held.
    pub unsafe fn release_shared(&self, node: &L::SharedNode) {
        let word = &self.hold.word;
        loop {
            // Relaxed: a look; the exchange orders.
            let hold = word.load(Relaxed);
            let is_last = hold & READERS == READER;
            if !is_last || self.may_pass(hold) {
                // Release: pairs with the Acquire of who gives it up behind this one.
                if word.exchange(hold, hold - READER, Release).is_ok() {
                    break;
                }
            } else if self.give_up(hold) {
                break;
            }
        }
        // SAFETY: our caller's promise.
        unsafe { self.local.release_shared(node) };
    }

    /// Gives up the lock between hosts, of which no reader makes use any more. Whether it did.
    fn give_up(&self, hold: u32) -> bool {
        // Acquire: pairs with the Release of the readers that have left.
        if self.hold.word.exchange(hold, BUSY, Acquire).is_err() {
            return false;
        }
        self.between.release(hold & MODE == EXCLUSIVE);
        // Release: pairs with the Acquire of who acquires it next.
        self.hold.word.store(NONE, Release);
        true
    }

    /// Whether who leaves may leave the lock between hosts to others of its host.
    fn may_pass(&self, hold: u32) -> bool {
        // Relaxed: who is seen to wait finds what is left to it; others acquire it anew.
        hold / PASS < L::Memory::BATCH && self.hold.waiting.load(Relaxed) != 0
    }
}
