//! The interface of transaction engines.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use bytemuck::NoUninit;

use super::cell::TCell;
use super::stop::Result;
use super::var::TVar;
use super::writes::Writes;
use crate::memory::LongMemory;

/// A way to let transactions appear as if they ran one after another.
///
/// In both engines, a cell has a value and a *stamp*, a word that belongs to the engine. The writes
/// of a transaction are kept aside ([`Writes`]) until it commits, unless it runs
/// [alone](Self::in_place).
///
/// # Safety
///
/// All that an attempt reads belongs to one moment. A commit that succeeds makes all that the
/// attempt writes visible at one moment, and at that moment everything that the attempt has read
/// still holds. While an attempt runs in place, no other attempt writes a cell that this one has
/// found [free](Self::wait_until_free) or has [taken](Self::take), and other attempts discard what
/// they read of its writes. An engine uses a stamp only during the attempt to which it was passed,
/// and what was passed to a commit only during the commit.
pub unsafe trait Engine: Sized + Sync + 'static {
    /// The memory that the cells are in.
    type Memory: LongMemory;
    /// A thread's part of the engine: what its transaction has read, and how it runs.
    type Thread;

    /// A cell of this engine.
    fn cell<T: NoUninit + Send>(&self, value: T) -> TCell<T, Self::Memory> {
        TCell::of(self, value)
    }

    /// A variable of this engine.
    fn var<T: Send + Sync + 'static>(&self, value: T) -> TVar<T, Self::Memory> {
        TVar::of(self, value)
    }

    /// Begins a thread's use of the engine, and returns the thread's part.
    #[doc(hidden)]
    fn enter(&self) -> Self::Thread;

    /// The stamp of a new cell.
    fn fresh_stamp(&self) -> u64;

    /// Whether a cell that has this stamp belongs to this engine.
    fn owns(&self, stamp: u64) -> bool;

    /// Begins an attempt.
    fn begin(&self, thread: &mut Self::Thread);

    /// Calls `load`, which reads the cell's value with Acquire ordering, and returns its result if
    /// the value belongs to the same moment as everything that was read before. An error means that
    /// the attempt is over.
    ///
    /// # Safety
    ///
    /// The cell lives until the attempt ends: until the next [`begin`](Self::begin) or
    /// [`leave`](Self::leave), or until [`commit`](Self::commit) succeeds. After that, only `begin`
    /// or [`exit`](Self::exit) is called with the thread's part.
    unsafe fn read<R>(
        &self,
        thread: &mut Self::Thread,
        stamp: NonNull<<Self::Memory as LongMemory>::Long>,
        load: impl Fn() -> R,
    ) -> Result<R>;

    /// The fast path of [`read`](Self::read): returns the value if the stamp alone shows that it is
    /// the right one. Otherwise returns `None`, and nothing was read. An attempt that has
    /// [written](Self::wrote) always gets `None`; one that runs [in place](Self::in_place) gets the
    /// current value if no commit has locked the cell. [`TCell::get`] tries this first, so that the
    /// ordinary read has no branch for how its attempt runs.
    ///
    /// # Safety
    ///
    /// Same requirements as [`read`](Self::read).
    #[inline(always)]
    unsafe fn read_at_once<R>(
        &self,
        _: &mut Self::Thread,
        _: NonNull<<Self::Memory as LongMemory>::Long>,
        _: impl FnOnce() -> R,
    ) -> Option<R> {
        None
    }

    /// Notes that the attempt keeps a write aside. Until the attempt ends,
    /// [`read_at_once`](Self::read_at_once) reads nothing, since the cell might be one that the
    /// attempt has written.
    #[inline(always)]
    fn wrote(_: &mut Self::Thread) {}

    /// Whether the attempt runs alone, so that it [writes in place](Writes), and reads the current
    /// value of a cell once the cell is [free](Self::wait_until_free).
    #[inline(always)]
    fn in_place(_: &Self::Thread) -> bool {
        false
    }

    /// Waits until no commit has the cell, for an attempt that runs [in place](Self::in_place).
    /// Panics if the cell is another engine's.
    ///
    /// # Safety
    ///
    /// Same requirements as [`read`](Self::read).
    unsafe fn wait_until_free(
        &self,
        _: &mut Self::Thread,
        _: NonNull<<Self::Memory as LongMemory>::Long>,
    ) {
    }

    /// Whether the attempt runs [in place](Self::in_place) and may write the cell, since it has
    /// been [taken](Self::take) before. [`TCell::set`] asks this first.
    ///
    /// # Safety
    ///
    /// Same requirements as [`read`](Self::read).
    #[inline(always)]
    unsafe fn has_taken(
        &self,
        _: &Self::Thread,
        _: NonNull<<Self::Memory as LongMemory>::Long>,
    ) -> bool {
        false
    }

    /// Waits as [`wait_until_free`](Self::wait_until_free) does, and marks the cell as taken,
    /// before the cell is written in place.
    ///
    /// # Safety
    ///
    /// Same requirements as [`read`](Self::read).
    unsafe fn take(&self, _: &mut Self::Thread, _: NonNull<<Self::Memory as LongMemory>::Long>) {}

    /// Makes the attempt's writes visible, at one moment. If that fails, nothing was changed.
    fn commit(&self, thread: &mut Self::Thread, writes: &mut Writes<Self::Memory>) -> Result<()>;

    /// Ends an attempt that failed because another transaction was in the way, and waits until the
    /// next attempt may begin.
    fn give_way(&self, thread: &mut Self::Thread);

    /// Ends the attempt and waits until something that it has read has changed. May return
    /// spuriously.
    fn wait_for_change(&self, thread: &mut Self::Thread);

    /// Ends the transaction without a commit.
    fn leave(&self, thread: &mut Self::Thread);

    /// Called when the thread has no more transactions.
    #[doc(hidden)]
    fn exit(&self, _: &mut Self::Thread) {}
}

/// Each engine's stamps lie in its own range, by which it recognizes its cells.
pub const STAMPS: u64 = 1 << 52;

/// The number of ranges: as many as fit below the highest bit. When all are used, ranges are
/// reused. Engines that share a range don't notice each other's cells. Then isolation between these
/// engines is lost, and nothing else.
const ENGINES: u32 = 1 << 11;

/// Where the range of a new engine begins. The first range, from 0 on, is the default engine's.
pub fn new_range() -> u64 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // Relaxed: only the number counts.
    let number = NEXT.fetch_add(1, Relaxed) % (ENGINES - 1) + 1;
    u64::from(number) * STAMPS
}

/// The panic for a cell of another engine.
#[cold]
#[track_caller]
pub fn foreign() -> ! {
    panic!(
        "the cell belongs to another engine than the transaction: make it with this engine's \
         `cell` or `var`"
    );
}
