//! Transactions that run alone: they write in place, keep no log of what they read, and their
//! commit can't fail.
//!
//! A word, the *epoch*, says how transactions run: side by side while it is even, one after the
//! other under a lock while it is odd. It changes only under that lock. So the thread that holds
//! the lock while the epoch is odd is alone, except for attempts that began before, which continue.
//! They read as always, without reading the epoch:
//!
//! 1. **Everything that is written in an odd epoch has one version**, ahead of the clock: the value
//!    of the clock, read once the epoch is odd, plus two. Before a cell is written in place its
//!    stamp is given that version, by an exchange, so that no commit loses its lock. The value is
//!    then written with Release, and read with Acquire: a reader that sees the value sees the
//!    version, and finds that the cell is newer than the attempt's moment.
//! 2. **The clock reaches that version when the epoch ends**, and so does no moment before. Commits
//!    don't use this version: a commit that read the epoch before it became odd read the clock
//!    still earlier, and took that value plus one at most. And a thread that finds the version in a
//!    stamp advances the clock only after it has read the epoch: the stamp is written with Release,
//!    so it sees that the epoch is odd.
//! 3. **Commits that lock their cells** look at the epoch before and once they have them, and give
//!    up if it is odd or has changed. The thread that is alone waits before each access until the
//!    cell is not locked. The commit's lock and its read of the epoch, and the change of the epoch
//!    and the wait, are in one order that all threads see. So either the commit gives up, or the
//!    thread that is alone waits for it, and it is ordered before all threads that are alone.
//!
//! To all other transactions, one that is alone is a commit that takes long. It costs them one read
//! of the epoch when they begin, and two when they commit.
//!
//! A transaction that asks for a turn is alone for its own time. The [pace](super::pace) decides
//! whether all others are alone as well, one after another. That pays if transactions are so short,
//! or conflict so often, that running them side by side costs more than it gains.
//!
//! No thread starves at the lock, a [gate](crate::lock::Gate) whose queue's head is overtaken a
//! bounded number of times.
//!
//! Source: a global lock that writes in place is the serial mode of GCC's libitm. There the thread
//! waits until no other transaction is under way; here the versions of TL2 keep the others away.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use super::clock::Clock;
use crate::lock::{GatedClh, RawLock};
use crate::memory::{Long, LongMemory, Native};
use crate::wait::Wait;

/// The thread that is alone, if one is.
pub struct Serial<W: Wait, M: LongMemory> {
    gate: GatedClh<W, M>,
    epoch: M::Long,
    /// In an odd epoch, the version of what is written in it. Used under the gate alone.
    version: M::Long,
    /// Not 0 if transactions run one after the other. Used under the gate alone.
    stays: M::Long,
}

/// Whether in this epoch transactions run one after the other.
#[inline(always)]
pub const fn is_serial(epoch: u64) -> bool {
    epoch & 1 == 1
}

impl<W: Wait> Serial<W, Native> {
    /// The state in which no thread is alone. It is `const`.
    pub const fn fresh() -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        let gate = unsafe { MaybeUninit::zeroed().assume_init() };
        let [epoch, version, stays] = [const { AtomicU64::new(0) }; 3];
        Self { gate, epoch, version, stays }
    }
}

impl<W: Wait, M: LongMemory> Serial<W, M> {
    /// No thread is alone.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let (gate, epoch, version, stays) = Default::default();
        Self { gate, epoch, version, stays }
    }

    /// The epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // SeqCst: in one order with a commit's locks (3), and with a sleeper's count. Its Acquire
        // pairs with the Releases of `make`, which ends an epoch: what was written in place before
        // is seen; and of the thread that gives a stamp its version: the change is seen (2).
        self.epoch.load(SeqCst)
    }

    /// Waits to be alone, if transactions then still run one after the other, and returns the
    /// version of what we write.
    #[inline]
    pub fn join(&self) -> Option<u64> {
        self.lock();
        // Relaxed, both: changed under the lock.
        if !is_serial(self.epoch.load(Relaxed)) {
            self.unlock();
            return None;
        }
        Some(self.version.load(Relaxed))
    }

    /// Waits to be alone, and returns the version of what we write.
    #[cold]
    pub fn enter(&self, clock: &Clock<M>) -> u64 {
        self.lock();
        self.make(true, clock);
        // Relaxed: used under the lock alone.
        self.version.load(Relaxed)
    }

    /// Ends being alone.
    #[inline]
    pub fn leave(&self, clock: &Clock<M>) {
        // Relaxed: used under the lock alone.
        if self.stays.load(Relaxed) == 0 {
            self.make(false, clock);
        }
        self.unlock();
    }

    /// Sets how transactions run from now on.
    #[cold]
    pub fn prefer(&self, serial: bool, clock: &Clock<M>) {
        self.lock();
        // Relaxed: used under the lock alone.
        self.stays.store(serial.into(), Relaxed);
        self.make(serial, clock);
        self.unlock();
    }

    /// Makes the epoch one of this kind. We hold the lock.
    #[cold]
    fn make(&self, serial: bool, clock: &Clock<M>) {
        // Relaxed, here and for the version: changed under the lock.
        let epoch = self.epoch.load(Relaxed);
        if is_serial(epoch) == serial {
            return;
        }
        if serial {
            // SeqCst: before we look at the clock (2), whether cells are locked (3), and whether
            // any thread sleeps.
            self.epoch.fetch_add(1, SeqCst);
            self.version.store(clock.now() + 2, Relaxed);
        } else {
            clock.advance(self.version.load(Relaxed));
            // Release: pairs with the Acquire of `epoch`.
            self.epoch.store(epoch + 1, Release);
        }
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
