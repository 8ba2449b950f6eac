//! Transactions that run alone: they write in place, keep no log of what they read, and their
//! commit can't fail.
//!
//! A word, the *epoch*, says how transactions run: side by side while it is even, one after the
//! other under a lock while it is odd. It changes only under that lock. So whoever holds the lock
//! while the epoch is odd is alone, but for two kinds of others:
//!
//! 1. **Attempts that began before** the epoch became odd may still read. They compare the epoch
//!    with that of their beginning after each value that they have read, and go no further if it
//!    has changed. A value that was written in place is written with Release after the change, and
//!    read with Acquire: whoever sees the value sees the change. So stamps need not change here.
//! 2. **Commits that lock their cells** look at the epoch once they have them, and give up if it
//!    has changed. Whoever is alone waits before each access until the cell is not locked. The
//!    lock and the look, and the change and the wait, are in one order that all threads see: so
//!    either the commit gives up, or it is waited for, and comes before all who are alone.
//!
//! A transaction that asks for a turn is alone for its own time. Whether all others are as well,
//! one after another, is for the [pace](super::pace) to say: that pays where transactions are so
//! short, or meet so often, that to run side by side costs more than it brings.
//!
//! Nobody starves at the lock, a [gate](crate::lock::Gate) whose queue's head is overtaken a
//! bounded number of times.
//!
//! Source: a global lock that writes in place is the serial mode of GCC's libitm; the word that
//! attempts compare is NOrec's (Dalessandro, Spear and Scott, PPoPP 2010), which here changes with
//! the way of running, not with each commit.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::lock::{GatedClh, RawLock};
use crate::memory::{Long, LongMemory, Native};
use crate::wait::Wait;

/// Who is alone, if anybody.
pub struct Serial<W: Wait, M: LongMemory> {
    gate: GatedClh<W, M>,
    epoch: M::Long,
    /// Not 0 if transactions go on one after the other. Used under the gate alone.
    stays: M::Long,
}

/// Whether in this epoch transactions run one after the other.
#[inline(always)]
pub const fn is_serial(epoch: u64) -> bool {
    epoch & 1 == 1
}

impl<W: Wait> Serial<W, Native> {
    /// Nobody is alone, also for constants.
    pub const fn fresh() -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        let gate = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { gate, epoch: AtomicU64::new(0), stays: AtomicU64::new(0) }
    }
}

impl<W: Wait, M: LongMemory> Serial<W, M> {
    /// Nobody is alone.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let (gate, epoch, stays) = Default::default();
        Self { gate, epoch, stays }
    }

    /// The epoch in which an attempt begins.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // Acquire: pairs with the Release of `leave` and `prefer`: what was written in place
        // before is seen.
        self.epoch.load(Acquire)
    }

    /// Whether the epoch is still this one, after a value was read with Acquire.
    #[inline]
    pub fn is_still(&self, epoch: u64) -> bool {
        // Relaxed: if the value was written in place, its Acquire has made us see the change (1).
        self.epoch.load(Relaxed) == epoch
    }

    /// Whether the epoch is still this one, after a commit has locked its cells.
    #[inline]
    pub fn lets_commit(&self, epoch: u64) -> bool {
        // SeqCst: after the locks (2).
        self.epoch.load(SeqCst) == epoch
    }

    /// Becomes alone, if transactions run one after the other when it is our time; the epoch then.
    #[inline]
    pub fn join(&self) -> Option<u64> {
        self.lock();
        // Relaxed: changed under the lock.
        let epoch = self.epoch.load(Relaxed);
        if !is_serial(epoch) {
            self.unlock();
            return None;
        }
        Some(epoch)
    }

    /// Becomes alone; the epoch.
    #[cold]
    pub fn enter(&self) -> u64 {
        self.lock();
        self.make(true)
    }

    /// Is alone no more.
    #[inline]
    pub fn leave(&self) {
        // Relaxed: used under the lock alone.
        if self.stays.load(Relaxed) == 0 {
            self.make(false);
        }
        self.unlock();
    }

    /// Lets transactions run so from now on.
    #[cold]
    pub fn prefer(&self, serial: bool) {
        self.lock();
        // Relaxed: used under the lock alone.
        self.stays.store(serial.into(), Relaxed);
        self.make(serial);
        self.unlock();
    }

    /// Sees to it that the epoch is of this kind. We hold the lock.
    #[cold]
    fn make(&self, serial: bool) -> u64 {
        // Relaxed: changed under the lock.
        let epoch = self.epoch.load(Relaxed);
        if is_serial(epoch) == serial {
            return epoch;
        }
        if serial {
            // SeqCst: before we look whether cells are locked (2), and whether anybody sleeps.
            self.epoch.fetch_add(1, SeqCst);
        } else {
            // Release: pairs with the Acquire of `epoch`.
            self.epoch.store(epoch + 1, Release);
        }
        epoch + 1
    }

    #[inline]
    fn lock(&self) {
        // SAFETY: a gate's node is nothing that could move.
        unsafe { self.gate.acquire(&()) };
    }

    #[inline]
    fn unlock(&self) {
        // SAFETY: this thread holds it.
        unsafe { self.gate.release(&()) };
    }
}
