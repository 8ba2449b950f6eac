//! A thread's state for its transactions on [`Shared`](super::Shared): the moment of its attempt (a
//! term of `shared.rs`), what the attempt has read, how the attempt runs, and what the thread's
//! attempts have cost.

use alloc::vec::Vec;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::engine::STAMPS;
use super::turns::Turn;
use crate::memory::{Long, LongMemory};

/// The bit of a stamp that says that a commit has locked the cell.
pub const LOCKED: u64 = 1 << 63;

/// A value that no stamp has.
const NONE: u64 = u64::MAX;

/// A thread's part of the engine.
pub struct Thread<M: LongMemory> {
    /// The engine's first version.
    base: u64,
    /// The attempt's moment, counted from the base.
    moment: u64,
    /// The bound of the fast path, which reads a cell if the cell's stamp, counted from the base,
    /// is lower. The bound is one more than the moment, or 0 if the attempt runs alone or has
    /// written.
    at_once: u64,
    /// The bound that replaces `at_once` if the attempt runs in place: [`STAMPS`], which is above
    /// every version of a cell that is not locked. Otherwise 0.
    in_place: u64,
    /// The stamp of the cells that the attempt may write, if it runs in place; otherwise [`NONE`].
    taken: u64,
    /// The version of what the attempt writes, if it runs alone; otherwise 0.
    pub(super) version: u64,
    /// The stamps of all cells that were read; empty if the attempt runs in place.
    pub(super) reads: Vec<NonNull<M::Long>>,
    pub(super) failures: u32,
    /// The number of reads in failed attempts since the last success.
    pub(super) wasted: usize,
    /// The cost of the thread's successful transactions so far, in accesses.
    pub(super) spent: u64,
    pub(super) turn: Option<Turn>,
    /// How many transactions are left until the pace is consulted.
    pub(super) left: u32,
}

// SAFETY: the stamps that `reads` points to are shared by all threads, and used only during an
// attempt.
unsafe impl<M: LongMemory> Send for Thread<M> {}

impl<M: LongMemory> Thread<M> {
    /// The state for an engine whose versions begin at `base`. The pace is consulted after `left`
    /// transactions.
    pub(super) fn new(base: u64, left: u32) -> Self {
        Self {
            base,
            moment: 0,
            at_once: 0,
            in_place: 0,
            taken: NONE,
            version: 0,
            reads: Vec::new(),
            failures: 0,
            wasted: 0,
            spent: 0,
            turn: None,
            left,
        }
    }

    /// Begins an attempt at this moment, side by side with others.
    #[inline(always)]
    pub(super) fn begin(&mut self, moment: u64) {
        (self.moment, self.at_once) = (moment, moment + 1);
    }

    /// Moves to a later moment.
    pub(super) fn move_to(&mut self, moment: u64) {
        self.moment = moment;
        if self.at_once > 0 {
            self.at_once = moment + 1;
        }
    }

    /// Makes attempts run alone, and write this version.
    #[inline]
    pub(super) fn be_alone(&mut self, version: u64) {
        (self.version, self.taken) = (version, version);
        // Any version is old enough, if its cell is not locked.
        (self.moment, self.at_once, self.in_place) = (STAMPS - 1, 0, STAMPS);
    }

    /// Makes attempts run side by side again.
    #[inline(always)]
    pub(super) fn be_among_others(&mut self) {
        self.version = 0;
        self.keep_aside();
    }

    /// Makes attempts that run alone keep aside what they write.
    #[inline(always)]
    pub(super) fn keep_aside(&mut self) {
        (self.in_place, self.taken) = (0, NONE);
    }

    /// Whether the attempt runs alone and in place.
    #[inline(always)]
    pub(super) fn in_place(&self) -> bool {
        self.in_place != 0
    }

    /// Whether the attempt runs in place and may write a cell with this stamp.
    #[inline(always)]
    pub(super) fn has_taken(&self, stamp: u64) -> bool {
        stamp == self.taken
    }

    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.version != 0
    }

    /// Notes that the attempt has written: from now on the fast path reads nothing.
    #[inline(always)]
    pub(super) fn wrote(&mut self) {
        self.at_once = 0;
    }

    /// Whether a cell with this stamp has not changed since the attempt's moment. `false` if the
    /// cell is locked or belongs to another engine.
    #[inline(always)]
    pub(super) fn holds(&self, stamp: u64) -> bool {
        stamp.wrapping_sub(self.base) <= self.moment
    }

    /// Whether all cells that were read still [hold](Self::holds). `ours` says whether a commit of
    /// this thread has locked a cell, and at which version.
    #[inline]
    pub(super) fn all_hold(
        &self,
        reads: &[NonNull<M::Long>],
        mut ours: impl FnMut(NonNull<M::Long>) -> Option<u64>,
    ) -> bool {
        reads.iter().all(|&at| {
            // SAFETY: the cells that were read live until the attempt ends. SeqCst: ordered after
            // our locks, our read of the clock, or our increment of the count of sleepers.
            let stamp = unsafe { at.as_ref() }.load(SeqCst);
            self.holds(stamp)
                || stamp & LOCKED != 0 && ours(at).is_some_and(|version| self.holds(version))
        })
    }

    /// The value of a cell if the fast path may read it, or if the attempt runs in place; otherwise
    /// `None`.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Engine::read`](super::Engine::read).
    #[inline(always)]
    pub(super) unsafe fn read_at_once<R>(
        &mut self,
        at: NonNull<M::Long>,
        load: impl FnOnce() -> R,
    ) -> Option<R> {
        // SAFETY: our caller's promise.
        // SeqCst: after the look at the clock (rule 1 in `shared`), or the change of the epoch (3
        // in `serial`). Its Acquire pairs with the Release of the commit before.
        let before = unsafe { at.as_ref() }.load(SeqCst);
        let counted = before.wrapping_sub(self.base);
        if counted < self.at_once {
            // SAFETY: our caller's promise.
            unsafe { self.load(at, before, load) }
        } else if counted < self.in_place {
            Some(load())
        } else {
            None
        }
    }

    /// The value of a cell if it has not changed since the attempt's moment; otherwise `None`.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Engine::read`](super::Engine::read).
    #[inline(always)]
    pub(super) unsafe fn read<R>(
        &mut self,
        at: NonNull<M::Long>,
        load: impl FnOnce() -> R,
    ) -> Option<R> {
        // SAFETY: our caller's promise.
        // SeqCst: after the look at the clock (rule 1 in `shared`).
        let before = unsafe { at.as_ref() }.load(SeqCst);
        // SAFETY: our caller's promise.
        if self.holds(before) { unsafe { self.load(at, before, load) } } else { None }
    }

    /// The value of a cell if the cell still has the stamp `before`; otherwise `None`.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Engine::read`](super::Engine::read).
    #[inline(always)]
    unsafe fn load<R>(
        &mut self,
        at: NonNull<M::Long>,
        before: u64,
        load: impl FnOnce() -> R,
    ) -> Option<R> {
        let value = load();
        // SAFETY: our caller's promise.
        // Relaxed: if the value is newer than the stamp, the Acquire of its load made us see the
        // commit's lock, or the version of the thread that is alone (1 in `serial`).
        let after = unsafe { at.as_ref() }.load(Relaxed);
        if after != before {
            return None;
        }
        self.note(at);
        Some(value)
    }

    /// Notes that a cell was read. Like [`Vec::push`], but makes room out of line, so that nothing
    /// has to be kept in registers over a call.
    #[inline(always)]
    fn note(&mut self, at: NonNull<M::Long>) {
        let Some(place) = self.reads.spare_capacity_mut().first_mut() else {
            return self.note_first(at);
        };
        place.write(at);
        // SAFETY: the next element was just written.
        unsafe { self.reads.set_len(self.reads.len() + 1) };
    }

    /// The slow path of [`note`](Self::note), for when there is no room.
    #[cold]
    #[inline(never)]
    fn note_first(&mut self, at: NonNull<M::Long>) {
        self.reads.push(at);
    }
}

impl<M: LongMemory> fmt::Debug for Thread<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}
