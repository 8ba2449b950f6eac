//! Transactions that run alone: they write in place, keep no log of what they read, and their
//! commit can't fail.
//!
//! A word, the *epoch*, says how transactions run: side by side while it is even, one after the
//! other under a lock while it is odd. It changes only under that lock. So the thread that holds
//! the lock while the epoch is odd is alone, except for attempts that began before, which continue.
//! These attempts read as always, and look at the epoch only when they find a cell that is newer
//! than their moment. Three rules keep them from using what the thread that is alone writes:
//!
//! 1. **Everything that is written in an odd epoch has one version**, ahead of the clock: the value
//!    of the clock, read when the epoch has become odd, plus two. Before a cell is written in place
//!    its stamp is given that version, by an exchange, so that no commit loses its lock. The value
//!    is then written with Release, and read with Acquire: a reader that sees the value sees the
//!    version, and finds that the cell is newer than the attempt's moment.
//! 2. **The clock reaches that version only when the epoch ends**, so no attempt's moment reaches
//!    it before. No commit takes this version: a commit that last read the epoch before it became
//!    odd had read the clock still earlier, and takes one more than that value. And a thread that
//!    finds the version in a stamp advances the clock only after it has read the epoch: the stamp
//!    is written with Release, so the thread sees that the epoch is odd.
//! 3. **Commits that lock their cells** read the epoch before they lock and again when they hold
//!    all of them, and give up if the epoch is odd or has changed. The thread that is alone waits
//!    before each access until the cell is not locked. The commit's lock and its read of the epoch,
//!    and the change of the epoch and the wait, are in one order that all threads see. So either
//!    the commit gives up, or the thread that is alone waits for it, and the commit is ordered
//!    before all that is written in the odd epoch.
//!
//! To all other transactions, a transaction that is alone looks like a commit that takes long. For
//! this, each other transaction reads the epoch once when it begins, and once for each cell that it
//! finds newer than its moment. If it has written, it reads the epoch twice more when it commits.
//!
//! A transaction that asks for a turn is alone until it ends. The [pace](super::pace) decides
//! whether all others are alone as well, one after another. That pays if transactions are so short,
//! or conflict so often, that running them side by side costs more than it gains.
//!
//! No thread starves at the lock: it is a [gate](crate::lock::Gate), in which the head of the queue
//! is overtaken a bounded number of times.
//!
//! Source: the serial mode of GCC's libitm, in which the holder of a global lock writes in place.
//! There the thread waits until no other transaction is under way; here the versions of TL2 keep
//! the others away.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use super::clock::Clock;
use crate::lock::{GatedClh, RawLock};
use crate::memory::{Long, LongMemory, Native};
use crate::wait::Wait;

/// The lock and the epoch that let one thread run alone.
pub struct Serial<W: Wait, M: LongMemory> {
    gate: GatedClh<W, M>,
    epoch: M::Long,
    /// In an odd epoch, the version of what is written in it. Used only under the gate.
    version: M::Long,
    /// Not 0 if all transactions run one after the other. Used only under the gate.
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
        // SAFETY: a lock whose bytes are all zero is a free lock.
        let gate = unsafe { MaybeUninit::zeroed().assume_init() };
        let [epoch, version, stays] = [const { AtomicU64::new(0) }; 3];
        Self { gate, epoch, version, stays }
    }
}

impl<W: Wait, M: LongMemory> Serial<W, M> {
    /// The state in which no thread is alone.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let (gate, epoch, version, stays) = Default::default();
        Self { gate, epoch, version, stays }
    }

    /// The epoch.
    #[inline]
    pub fn epoch(&self) -> u64 {
        // SeqCst: in one order with a commit's locks (3), and with a sleeper's count. Its Acquire
        // pairs with the Release in `make`, which ends an epoch: what was written in place before
        // is seen. A thread that has found the version in a stamp sees that the epoch is odd, since
        // the stamp was written with Release (2).
        self.epoch.load(SeqCst)
    }

    /// Waits to be alone, and returns the version of what this thread writes. `None` if by then
    /// transactions run side by side again.
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

    /// Waits to be alone, and returns the version of what this thread writes.
    #[cold]
    pub fn enter(&self, clock: &Clock<M>) -> u64 {
        self.lock();
        self.make(true, clock);
        // Relaxed: used only under the lock.
        self.version.load(Relaxed)
    }

    /// Ends the time in which this thread is alone.
    #[inline]
    pub fn leave(&self, clock: &Clock<M>) {
        // Relaxed: used only under the lock.
        if self.stays.load(Relaxed) == 0 {
            self.make(false, clock);
        }
        self.unlock();
    }

    /// Sets how transactions run from now on.
    #[cold]
    pub fn prefer(&self, serial: bool, clock: &Clock<M>) {
        self.lock();
        // Relaxed: used only under the lock.
        self.stays.store(serial.into(), Relaxed);
        self.make(serial, clock);
        self.unlock();
    }

    /// Makes the epoch odd if `serial` is true, and even otherwise. This thread holds the lock.
    #[cold]
    fn make(&self, serial: bool, clock: &Clock<M>) {
        // Relaxed, here and for the version: changed under the lock.
        let epoch = self.epoch.load(Relaxed);
        if is_serial(epoch) == serial {
            return;
        }
        if serial {
            // SeqCst: before this thread reads the clock (2), the stamps (3), and the number of
            // sleepers.
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
        // SAFETY: a gate's node is `()`, which need not stay in place.
        unsafe { self.gate.acquire(&()) };
    }

    #[inline]
    fn unlock(&self) {
        // SAFETY: this thread holds the lock.
        unsafe { self.gate.release(&()) };
    }
}
