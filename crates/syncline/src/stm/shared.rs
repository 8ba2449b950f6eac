//! The engine for shared memory: versioned locks, one in each cell, and a clock.
//!
//! A cell's stamp is the version of its value or, while a commit writes it, that and [`LOCKED`].
//! An attempt begins by reading the clock. What it reads must not be newer than that, which it
//! finds out from the stamp, and then all it has read is of that one moment. If it meets something
//! newer, it moves its moment to the present, provided that nothing it has read has changed. To
//! commit, it locks what it writes, checks what it has read once more, writes, and unlocks with a
//! new version. Readers write nothing that is shared.
//!
//! **The clock is lazy.** A commit takes the clock's value plus one as its version, but doesn't
//! write the clock: whoever reads a version that is ahead of the clock advances it. So commits
//! that nobody follows up don't meet at one line, which in TL2 they do. It rests on one rule:
//!
//! 1. **Lock, then look at the clock.** Then a commit's version is larger than the moment of every
//!    attempt that has seen one of its cells unlocked. For if an attempt's moment is not smaller
//!    than the version, the clock was advanced after the commit had looked; the attempt read the
//!    clock after that, and the cell still later: it finds the cell locked, or the new version.
//! 2. **So a cell has not changed since an attempt's moment** if it is unlocked and its version is
//!    not larger than that moment. This is all that is ever checked.
//!
//! The rule needs the lock and the look, and on the other side the clock and the stamp, to be in
//! one order that all threads see: these accesses are SeqCst, which on x86-64 costs nothing that
//! the lock does not cost already.
//!
//! Who fails too often gets a [turn](Turns), in which it runs [alone](Serial). Where that gets more
//! done, all transactions run so, one after another ([`Pace`]).
//!
//! When not to use it: transactions that nearly always conflict are a queue at a lock, done twice;
//! use a [`Mutex`](crate::Mutex).
//!
//! Sources: Dice, Shalev and Shavit, "Transactional Locking II", DISC 2006, with the lazy clock
//! (GV5) of its section 2.3; Riegel, Felber and Fetzer, "A Lazy Snapshot Algorithm with Eager
//! Validation", DISC 2006, for moving the moment.

use alloc::vec::Vec;
use core::fmt;
use core::mem::take;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use super::engine::{Engine, STAMPS, foreign, new_range};
use super::pace::{Measured, Pace};
use super::serial::{Serial, is_serial};
use super::sleepers::Sleepers;
use super::stop::{Result, Stop};
use super::turns::{Turn, Turns};
use super::writes::{Write, Writes};
use crate::memory::{Long, LongMemory, Native, Padded};
use crate::wait::{Park, Wait};

/// The bit of a stamp by which a commit has it.
const LOCKED: u64 = 1 << 63;

/// Accesses of failed attempts after which a transaction asks for a turn, however few they were:
/// a long one that nearly always meets a conflict wastes more by trying than its turn costs others.
const WASTED: usize = 256;

/// The engine for shared memory. `TRIES` is how often a transaction fails before it asks for a
/// turn: most conflicts are over by then. `P` says when transactions run one after the other.
pub struct Shared<W: Wait = Park, M: LongMemory = Native, const TRIES: u32 = 8, P: Pace = Measured>
{
    clock: Padded<M::Long>,
    serial: Padded<Serial<W, M>>,
    pace: Padded<P>,
    turns: Turns<W, M>,
    /// Read by every commit, and rarely written.
    sleepers: Sleepers<W, M>,
    /// The first version. 100 million commits a second use up all [`STAMPS`] in a year.
    base: u64,
}

/// A thread's part.
pub struct Thread<M: LongMemory> {
    /// The engine's.
    base: u64,
    /// The attempt's moment, counted from the base.
    moment: u64,
    /// The epoch in which it began; if that is a serial one, it runs alone.
    epoch: u64,
    /// Whether it runs alone and in place.
    in_place: bool,
    /// The stamps of all cells that were read; not if it runs in place.
    reads: Vec<NonNull<M::Long>>,
    failures: u32,
    /// What attempts have cost since, in accesses.
    wasted: usize,
    /// What the thread's transactions have cost so far that have succeeded, in accesses.
    spent: u64,
    turn: Option<Turn>,
    /// Transactions until the pace is asked.
    left: u32,
}

// SAFETY: what is referred to is shared by all threads, and during an attempt alone.
unsafe impl<M: LongMemory> Send for Thread<M> {}

impl<const TRIES: u32> Shared<Park, Native, TRIES, Measured> {
    /// The first engine, whose new cells are all zero but for their values.
    pub(super) const fn first() -> Self {
        Self {
            clock: Padded(core::sync::atomic::AtomicU64::new(0)),
            serial: Padded(Serial::fresh()),
            pace: Padded(Measured::fresh()),
            turns: Turns::fresh(),
            sleepers: Sleepers::fresh(),
            base: 0,
        }
    }
}

impl<W: Wait, M: LongMemory, const TRIES: u32, P: Pace> Default for Shared<W, M, TRIES, P> {
    fn default() -> Self {
        let base = new_range();
        let clock = M::Long::default();
        clock.store(base, Relaxed);
        let (serial, pace) = (Padded(Serial::new()), Padded(P::default()));
        let (turns, sleepers) = (Turns::new(), Sleepers::new());
        Self { clock: Padded(clock), serial, pace, turns, sleepers, base }
    }
}

impl<M: LongMemory> Thread<M> {
    /// Whether a cell with this stamp has not changed since the attempt's moment; not if it is
    /// locked, nor if it is another engine's.
    #[inline(always)]
    fn holds(&self, stamp: u64) -> bool {
        stamp.wrapping_sub(self.base) <= self.moment
    }

    #[inline(always)]
    fn is_alone(&self) -> bool {
        is_serial(self.epoch)
    }

    /// Whether all that was read still holds. `ours` says whether a commit of this thread has
    /// locked a cell, and at which version.
    #[inline]
    fn all_hold(
        &self,
        reads: &[NonNull<M::Long>],
        mut ours: impl FnMut(NonNull<M::Long>) -> Option<u64>,
    ) -> bool {
        reads.iter().all(|&at| {
            // SAFETY: the cells that were read live until the attempt ends.
            // SeqCst: comes after our locks, or after our look at the clock.
            let stamp = unsafe { at.as_ref() }.load(SeqCst);
            self.holds(stamp)
                || stamp & LOCKED != 0 && ours(at).is_some_and(|version| self.holds(version))
        })
    }
}

impl<W: Wait, M: LongMemory, const TRIES: u32, P: Pace> Shared<W, M, TRIES, P> {
    /// Reading what is locked, newer than the attempt's moment, or being changed. When this
    /// returns, it can be tried again.
    #[cold]
    fn catch_up(&self, thread: &mut Thread<M>, stamp: &M::Long) -> Result<()> {
        if !self.serial.is_still(thread.epoch) {
            return Err(Stop::CONFLICT);
        }
        let mut looks = 1;
        let version = loop {
            // SeqCst: what the clock is advanced to.
            let version = stamp.load(SeqCst);
            if version & LOCKED == 0 {
                break version;
            }
            // Who has it locked waits for others only that do, and these not for it.
            W::pause::<M>(looks);
            looks += 1;
        };
        if !self.owns(version) {
            foreign();
        }
        if thread.holds(version) {
            return Ok(());
        }
        loop {
            // SeqCst: in the one order, and before the looks at what was read (rule 1).
            let clock = self.clock.load(SeqCst);
            if clock >= version || self.clock.exchange(clock, version, SeqCst).is_ok() {
                break;
            }
        }
        let moment = self.clock.load(SeqCst) - self.base;
        if !thread.all_hold(&thread.reads, |_| None) {
            return Err(Stop::CONFLICT);
        }
        thread.moment = moment;
        Ok(())
    }

    /// Locks a cell.
    #[inline]
    fn lock(write: &Write<M>) {
        let mut looks = 1;
        loop {
            // Relaxed: the exchange looks again.
            let version = write.stamp().load(Relaxed);
            if version & LOCKED == 0 {
                // SeqCst: before the look at the clock (rule 1). Its Acquire pairs with the
                // Release of the commit before, whose value will be replaced.
                if write.stamp().exchange(version, version | LOCKED, SeqCst).is_ok() {
                    write.locked_at.set(version);
                    return;
                }
            } else {
                W::pause::<M>(looks);
            }
            looks += 1;
        }
    }

    fn unlock(writes: &[Write<M>]) {
        // Release: the lock's next owner comes after us.
        writes.iter().for_each(|write| write.stamp().store(write.locked_at.get(), Release));
    }

    /// Locks all, in the order in which all commits lock. So a commit waits only for one that holds
    /// a later cell than all that the first one has, and none for another that waits for it.
    #[inline]
    fn lock_all(writes: &mut Writes<M>) {
        writes.in_order().iter().for_each(Self::lock);
    }

    /// The version of a commit that has locked these and then looked at the clock.
    fn next_version(&self, clock: u64, writes: &[Write<M>]) -> u64 {
        let next = clock + 1;
        if !self.owns(next) {
            Self::unlock(writes);
            panic!("the engine has run out of versions");
        }
        next
    }

    /// Ends a transaction that has succeeded, and kept aside what it writes.
    #[inline]
    fn succeeded(&self, thread: &mut Thread<M>, written: usize) {
        let cost = (thread.reads.len() + written) as u64 + 1;
        (thread.failures, thread.wasted) = (0, 0);
        if thread.is_alone() {
            self.stand_back(thread, cost);
        }
        self.count(thread, cost);
    }

    /// Counts a transaction of this cost.
    #[inline(always)]
    fn count(&self, thread: &mut Thread<M>, cost: u64) {
        thread.spent += cost;
        thread.left -= 1;
        if thread.left == 0 {
            thread.left = P::EVERY;
            self.keep_pace();
        }
    }

    #[cold]
    fn keep_pace(&self) {
        self.pace.next(M::now, |serial| self.serial.prefer(serial));
    }

    /// Lets the thread's attempts run alone, in this epoch.
    #[inline]
    fn be_alone(thread: &mut Thread<M>, epoch: u64) {
        // Any version is old enough, if its cell is not locked.
        (thread.epoch, thread.moment, thread.in_place) = (epoch, STAMPS - 1, true);
    }

    /// Ends a time alone, and a turn if it was one, in which a transaction has cost so much.
    #[inline(always)]
    fn stand_back(&self, thread: &mut Thread<M>, cost: u64) {
        (thread.epoch, thread.in_place) = (0, false);
        self.serial.leave();
        if thread.turn.is_some() {
            self.end_turn(thread, cost);
        }
    }

    /// What was read in place is not counted; attempts that failed before tell about how much.
    #[cold]
    fn end_turn(&self, thread: &mut Thread<M>, cost: u64) {
        let reads = thread.wasted as u64 / u64::from(thread.failures.max(1));
        thread.spent += reads;
        (thread.failures, thread.wasted) = (0, 0);
        if let Some(turn) = thread.turn.take() {
            self.turns.leave(&turn, cost + reads);
        }
    }

    /// Commits what was kept aside. Out of line, so that all else of a commit is in line.
    #[inline(never)]
    fn commit_aside(&self, thread: &mut Thread<M>, writes: &mut Writes<M>) -> Result<()> {
        Self::lock_all(writes);
        // SeqCst, both: after the locks (rule 1, and the one in `sleepers`).
        let sleepers = self.sleepers.any();
        let clock = self.clock.load(SeqCst);
        let locked_at = |at| writes.find(at).map(|write| write.locked_at.get());
        if !self.serial.lets_commit(thread.epoch) || !thread.all_hold(&thread.reads, locked_at) {
            Self::unlock(writes.entries());
            return Err(Stop::CONFLICT);
        }
        let version = self.next_version(clock, writes.entries());
        writes.install();
        let entries = writes.entries();
        // Release: pairs with the looks of readers, who see the values.
        entries.iter().for_each(|write| write.stamp().store(version, Release));
        if sleepers {
            self.sleepers.wake(|at| writes.find(at).is_some());
        }
        Ok(())
    }

    /// Commits what was written in place.
    #[inline(always)]
    fn commit_in_place(&self, thread: &mut Thread<M>, writes: &Writes<M>) {
        let written = writes.entries().len();
        // SeqCst: after the epoch was changed (see `wait_for_change`).
        if written > 0 && self.sleepers.any() {
            self.sleepers.wake(|at| writes.find(at).is_some());
        }
        let cost = written as u64 + 1;
        self.stand_back(thread, cost);
        self.count(thread, cost);
    }
}

// SAFETY: see the rules at the top.
unsafe impl<W: Wait, M: LongMemory, const TRIES: u32, P: Pace> Engine for Shared<W, M, TRIES, P> {
    type Memory = M;
    type Thread = Thread<M>;

    fn enter(&self) -> Thread<M> {
        let Self { base, .. } = *self;
        Thread {
            base,
            moment: 0,
            epoch: 0,
            reads: Vec::new(),
            failures: 0,
            wasted: 0,
            spent: 0,
            turn: None,
            in_place: false,
            left: P::EVERY,
        }
    }

    fn fresh_stamp(&self) -> u64 {
        self.base
    }

    #[inline]
    fn owns(&self, stamp: u64) -> bool {
        (stamp & !LOCKED).wrapping_sub(self.base) < STAMPS
    }

    #[inline]
    fn begin(&self, thread: &mut Thread<M>) {
        thread.reads.clear();
        let mut epoch = self.serial.epoch();
        while is_serial(epoch) {
            if thread.is_alone() {
                return;
            }
            if let Some(epoch) = self.serial.join() {
                return Self::be_alone(thread, epoch);
            }
            epoch = self.serial.epoch();
        }
        thread.epoch = epoch;
        // SeqCst: before the looks at stamps (rule 1).
        thread.moment = self.clock.load(SeqCst) - self.base;
    }

    #[inline]
    unsafe fn read<R>(
        &self,
        thread: &mut Thread<M>,
        at: NonNull<M::Long>,
        load: impl Fn() -> R,
    ) -> Result<R> {
        // SAFETY: our caller's promise.
        let stamp = unsafe { at.as_ref() };
        loop {
            // SeqCst: after the look at the clock (rule 1).
            let before = stamp.load(SeqCst);
            if thread.holds(before) {
                let value = load();
                // Relaxed: if the value is newer, its Acquire has made us see the lock.
                if stamp.load(Relaxed) == before && self.serial.is_still(thread.epoch) {
                    thread.reads.push(at);
                    return Ok(value);
                }
            }
            self.catch_up(thread, stamp)?;
        }
    }

    #[inline(always)]
    fn in_place(thread: &Thread<M>) -> bool {
        thread.in_place
    }

    #[inline(always)]
    unsafe fn wait_until_free(&self, thread: &mut Thread<M>, at: NonNull<M::Long>) {
        // SAFETY: our caller's promise.
        let stamp = unsafe { at.as_ref() };
        // SeqCst: after the epoch was changed (2 in `serial`). Its Acquire pairs with the Release
        // of the commit before.
        while !thread.holds(stamp.load(SeqCst)) {
            // Never an error: the epoch does not change while we are alone.
            _ = self.catch_up(thread, stamp);
        }
    }

    #[inline(always)]
    fn commit(&self, thread: &mut Thread<M>, writes: &mut Writes<M>) -> Result<()> {
        if thread.in_place {
            self.commit_in_place(thread, writes);
            return Ok(());
        }
        if !writes.is_empty() {
            self.commit_aside(thread, writes)?;
        }
        self.succeeded(thread, writes.entries().len());
        Ok(())
    }

    #[cold]
    fn give_way(&self, thread: &mut Thread<M>) {
        if thread.is_alone() {
            return;
        }
        thread.failures += 1;
        thread.wasted += thread.reads.len();
        if thread.failures >= TRIES || thread.wasted >= WASTED {
            thread.turn = Some(self.turns.take(thread.spent));
            Self::be_alone(thread, self.serial.enter());
        } else {
            W::pause::<M>(thread.failures);
        }
    }

    fn wait_for_change(&self, thread: &mut Thread<M>) {
        if thread.in_place {
            // Once more, still alone, but with logs: so we get to know what it has read.
            thread.in_place = false;
            return;
        }
        assert!(!thread.reads.is_empty(), "retry without having read anything would wait forever");
        (thread.failures, thread.wasted) = (0, 0);
        let reads = take(&mut thread.reads);
        self.sleepers.sleep_while(&reads, || {
            if thread.is_alone() {
                // All holds. Who is alone next, or commits in a later epoch, comes after us and so
                // finds us on the list.
                self.leave(thread);
                return true;
            }
            // SeqCst: after we have counted ourselves. Who is alone from then on changes the epoch
            // and then looks at the count.
            thread.all_hold(&reads, |_| None) && self.serial.lets_commit(thread.epoch)
        });
        thread.reads = reads;
    }

    fn leave(&self, thread: &mut Thread<M>) {
        (thread.failures, thread.wasted) = (0, 0);
        if thread.is_alone() {
            self.stand_back(thread, 1);
        }
    }
}

impl<W: Wait, M: LongMemory, const TRIES: u32, P: Pace> fmt::Debug for Shared<W, M, TRIES, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<M: LongMemory> fmt::Debug for Thread<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").finish_non_exhaustive()
    }
}
