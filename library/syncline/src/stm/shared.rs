//! The engine for shared memory: versioned locks, one in each cell, and a clock.
//!
//! A cell's stamp is the version of its value, together with the bit `LOCKED` while a commit writes
//! the cell. An attempt begins by reading the clock; the value is its *moment*. The attempt checks
//! by the stamp that no cell it reads is newer than the moment. So everything it has read belongs
//! to that moment. If it meets a newer cell, it moves its moment to the present, provided that
//! nothing it has read has changed. To commit, it locks the cells that it writes, checks once more
//! the cells that it has read, writes, and unlocks with a new version. Readers write no stamps.
//!
//! **The clock is lazy.** A commit takes the clock's value plus one as its version, but doesn't
//! write the clock: a thread that reads a version that is ahead of the clock advances the clock. So
//! commits don't contend for the clock's line, as they do in TL2, unless another thread reads their
//! cells. This rests on a rule, from which a second follows:
//!
//! 1. **Lock, then look at the clock.** By this rule, a commit's version is larger than the moment
//!    of every attempt that has seen one of its cells unlocked. For if an attempt's moment is not
//!    smaller than the version, the clock was advanced after the commit had read it. The attempt
//!    read the clock after that, and the cell still later: so it finds the cell locked, or the new
//!    version.
//! 2. **So a cell has not changed since an attempt's moment** if it is unlocked and its version is
//!    not larger than that moment. This is all that is ever checked.
//!
//! Rule 1 needs one order, which all threads see, of four accesses: the commit's lock and its look
//! at the clock, and the attempt's reads of the clock and of the stamp. These are SeqCst, which on
//! x86-64 costs no more than the lock costs already.
//!
//! A thread that fails too often gets a [turn](Turns), in which it runs [alone](Serial). If that
//! gets more done, all transactions run alone, one after another ([`Pace`]). Reads in the ordinary
//! mode pay nothing for this. A write of the thread that is alone shows in the stamp, which is
//! compared with a bound anyway; the bound is 0 if the reader itself is alone or has written.
//!
//! When not to use it: transactions that nearly always conflict end up in a queue for a lock, after
//! wasted attempts. Use a [`Mutex`](crate::Mutex).
//!
//! Sources: Dice, Shalev and Shavit, "Transactional Locking II", DISC 2006, with the lazy clock
//! (GV5) of its section 2.3; Riegel, Felber and Fetzer, "A Lazy Snapshot Algorithm with Eager
//! Validation", DISC 2006, for moving the moment.

use core::fmt;
use core::mem::take;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

use super::attempt::{LOCKED, Thread};
use super::clock::Clock;
use super::engine::{Engine, STAMPS, foreign, new_range};
use super::pace::{Measured, Pace};
use super::serial::{Serial, is_serial};
use super::sleepers::Sleepers;
use super::stop::{Result, Stop};
use super::turns::Turns;
use super::writes::{Write, Writes};
use crate::memory::{Long, LongMemory, Native, Padded};
use crate::wait::{Park, Wait};

/// The number of reads in failed attempts after which a transaction asks for a turn, even if few
/// attempts failed: a long transaction that nearly always meets a conflict wastes more by trying
/// than its turn costs others.
const WASTED: usize = 256;

#[cold]
fn out_of_versions() -> ! {
    panic!("the engine has run out of versions");
}

/// The engine for shared memory. A transaction asks for a turn after `TRIES` failures: most
/// conflicts are over by then. A long transaction asks earlier, after 256 reads in failed attempts.
/// `P` says when transactions run one after the other.
pub struct Shared<W: Wait = Park, M: LongMemory = Native, const TRIES: u32 = 8, P: Pace = Measured>
{
    clock: Padded<Clock<M>>,
    serial: Padded<Serial<W, M>>,
    pace: Padded<P>,
    turns: Turns<W, M>,
    /// Read by every commit that writes, and rarely written.
    sleepers: Sleepers<W, M>,
    /// The first version. 100 million commits a second use up all [`STAMPS`] in 17 months.
    base: u64,
}

impl<const TRIES: u32> Shared<Park, Native, TRIES, Measured> {
    /// The first engine, whose new cells have 0 as their stamp.
    pub(super) const fn first() -> Self {
        Self {
            clock: Padded(Clock::fresh()),
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
        let (clock, serial) = (Padded(Clock::at(base)), Padded(Serial::new()));
        let (pace, turns, sleepers) = (Padded(P::default()), Turns::new(), Sleepers::new());
        Self { clock, serial, pace, turns, sleepers, base }
    }
}

impl<W: Wait, M: LongMemory, const TRIES: u32, P: Pace> Shared<W, M, TRIES, P> {
    /// Handles a cell that is locked, newer than the attempt's moment, or being changed. When this
    /// returns `Ok`, the read can be tried again; an error ends the attempt.
    #[cold]
    fn catch_up(&self, thread: &mut Thread<M>, stamp: &M::Long) -> Result<()> {
        let mut looks = 1;
        let version = loop {
            // SeqCst: the clock is advanced to this version below. Its Acquire orders the read of
            // the epoch after it (2 in `serial`).
            let version = stamp.load(SeqCst);
            if version & LOCKED == 0 {
                break version;
            }
            // The thread that has locked the cell waits only for other commits, and commits don't
            // wait for us.
            W::pause::<M>(looks);
            looks += 1;
        };
        if !self.owns(version) {
            foreign();
        }
        if thread.holds(version) {
            return Ok(());
        }
        // The epoch is read after the stamp: the version may be that of a thread that runs alone (2
        // in `serial`).
        if is_serial(self.serial.epoch()) {
            return Err(Stop::CONFLICT);
        }
        // The clock advances before the checks of what was read, in SeqCst order (rule 1).
        self.clock.advance(version);
        let moment = self.clock.now() - self.base;
        if !thread.all_hold(&thread.reads, |_| None) {
            return Err(Stop::CONFLICT);
        }
        thread.move_to(moment);
        Ok(())
    }

    /// Waits until no commit has a cell, for an attempt that runs in place, and returns the cell's
    /// stamp.
    #[inline(always)]
    fn free(&self, thread: &mut Thread<M>, stamp: &M::Long) -> u64 {
        loop {
            // SeqCst: after the epoch was changed (3 in `serial`). Its Acquire pairs with the
            // Release of the commit before.
            let version = stamp.load(SeqCst);
            if thread.holds(version) {
                return version;
            }
            // Never an error: if the attempt runs in place, every cell that is not locked holds.
            _ = self.catch_up(thread, stamp);
        }
    }

    /// Gives a cell the version of this epoch, before it is first written in place.
    #[cold]
    fn take_first(&self, thread: &mut Thread<M>, stamp: &M::Long) {
        if !self.owns(thread.version) {
            out_of_versions();
        }
        loop {
            let before = self.free(thread, stamp);
            // Release: pairs with the look in `catch_up`: a reader that sees the version sees that
            // the epoch is odd (2 in `serial`).
            if stamp.exchange(before, thread.version, Release).is_ok() {
                return;
            }
        }
    }

    /// Locks a cell.
    #[inline(always)]
    fn lock(write: &Write<M>) {
        if !Self::try_lock(write) {
            Self::lock_later(write);
        }
    }

    #[cold]
    #[inline(never)]
    fn lock_later(write: &Write<M>) {
        let mut looks = 0;
        while !Self::try_lock(write) {
            looks += 1;
            W::pause::<M>(looks);
        }
    }

    /// Locks a cell if no other thread has.
    #[inline(always)]
    fn try_lock(write: &Write<M>) -> bool {
        // Relaxed: the exchange looks again.
        let version = write.stamp().load(Relaxed);
        write.locked_at.set(version);
        // SeqCst: before the look at the clock (rule 1). Its Acquire pairs with the Release of the
        // commit before, whose value will be replaced.
        version & LOCKED == 0 && write.stamp().exchange(version, version | LOCKED, SeqCst).is_ok()
    }

    fn unlock(writes: &[Write<M>]) {
        // Release: pairs with the Acquire of the next thread that locks the cell.
        writes.iter().for_each(|write| write.stamp().store(write.locked_at.get(), Release));
    }

    /// Locks all cells of `writes`, in the order in which all commits lock cells. So a commit waits
    /// only for a cell that comes after all cells that it holds, and no two commits wait for each
    /// other.
    #[inline]
    fn lock_all(writes: &mut Writes<M>) {
        writes.in_order().iter().for_each(Self::lock);
    }

    /// The version of a commit that has locked `writes` and then found the clock at `clock`.
    fn next_version(&self, thread: &Thread<M>, clock: u64, writes: &[Write<M>]) -> u64 {
        let next = if thread.is_alone() { thread.version } else { clock + 1 };
        if !self.owns(next) {
            Self::unlock(writes);
            out_of_versions();
        }
        next
    }

    /// Ends a transaction that kept its writes aside and has succeeded.
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
        self.pace.next(M::now, |serial| self.serial.prefer(serial, &self.clock));
    }

    /// Ends the time in which this thread runs alone, and its turn if it has one. `cost` is that of
    /// the transaction.
    #[inline(always)]
    fn stand_back(&self, thread: &mut Thread<M>, cost: u64) {
        thread.be_among_others();
        self.serial.leave(&self.clock);
        if thread.turn.is_some() {
            self.end_turn(thread, cost);
        }
    }

    /// Ends a turn. Reads in place are not counted; the mean cost of the earlier failed attempts
    /// replaces their number.
    #[cold]
    fn end_turn(&self, thread: &mut Thread<M>, cost: u64) {
        let reads = thread.wasted as u64 / u64::from(thread.failures.max(1));
        thread.spent += reads;
        (thread.failures, thread.wasted) = (0, 0);
        if let Some(turn) = thread.turn.take() {
            self.turns.leave(&turn, cost + reads);
        }
    }

    /// Commits what was kept aside. Out of line, so that the rest of a commit is inlined.
    #[inline(never)]
    fn commit_aside(&self, thread: &mut Thread<M>, writes: &mut Writes<M>) -> Result<()> {
        let epoch = self.serial.epoch();
        if is_serial(epoch) && !thread.is_alone() {
            return Err(Stop::CONFLICT);
        }
        Self::lock_all(writes);
        // All are SeqCst: after the locks (rule 1, the rule in `sleepers`, and 3 in `serial`), and
        // the clock before the epoch (2 in `serial`).
        let sleepers = self.sleepers.any();
        let clock = self.clock.now();
        let same_epoch = self.serial.epoch() == epoch;
        let locked_at = |at| writes.find(at).map(|write| write.locked_at.get());
        if !same_epoch || !thread.all_hold(&thread.reads, locked_at) {
            Self::unlock(writes.entries());
            return Err(Stop::CONFLICT);
        }
        let version = self.next_version(thread, clock, writes.entries());
        // A cell is unlocked as soon as it is written: a reader that sees its value and then a cell
        // that is still locked waits for that cell. Release: pairs with the looks of readers, which
        // see the values.
        writes.install(|write| write.stamp().store(version, Release));
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
        Thread::new(self.base, P::EVERY)
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
        while is_serial(self.serial.epoch()) {
            if thread.is_alone() {
                return;
            }
            if let Some(version) = self.serial.join() {
                return thread.be_alone(version);
            }
        }
        // The clock is read before the stamps (rule 1).
        thread.begin(self.clock.now() - self.base);
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
            // SAFETY: as above.
            if let Some(value) = unsafe { thread.read(at, &load) } {
                return Ok(value);
            }
            self.catch_up(thread, stamp)?;
        }
    }

    #[inline(always)]
    unsafe fn read_at_once<R>(
        &self,
        thread: &mut Thread<M>,
        at: NonNull<M::Long>,
        load: impl FnOnce() -> R,
    ) -> Option<R> {
        // SAFETY: our caller's promise.
        unsafe { thread.read_at_once(at, load) }
    }

    #[inline(always)]
    fn wrote(thread: &mut Thread<M>) {
        thread.wrote();
    }

    #[inline(always)]
    fn in_place(thread: &Thread<M>) -> bool {
        thread.in_place()
    }

    #[inline(always)]
    unsafe fn wait_until_free(&self, thread: &mut Thread<M>, at: NonNull<M::Long>) {
        // SAFETY: our caller's promise.
        self.free(thread, unsafe { at.as_ref() });
    }

    #[inline(always)]
    unsafe fn has_taken(&self, thread: &Thread<M>, at: NonNull<M::Long>) -> bool {
        // SAFETY: our caller's promise.
        let stamp = unsafe { at.as_ref() };
        // A cell that has this epoch's version is not locked, and has not been since it got the
        // version.
        // SeqCst: as in `free`.
        thread.has_taken(stamp.load(SeqCst))
    }

    unsafe fn take(&self, thread: &mut Thread<M>, at: NonNull<M::Long>) {
        // SAFETY: our caller's promise, twice.
        unsafe {
            if !self.has_taken(thread, at) {
                self.take_first(thread, at.as_ref());
            }
        }
    }

    #[inline(always)]
    fn commit(&self, thread: &mut Thread<M>, writes: &mut Writes<M>) -> Result<()> {
        if thread.in_place() {
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
            thread.be_alone(self.serial.enter(&self.clock));
        } else {
            W::pause::<M>(thread.failures);
        }
    }

    fn wait_for_change(&self, thread: &mut Thread<M>) {
        if thread.in_place() {
            // Runs once more, still alone, but with logs, which say what it has read.
            thread.keep_aside();
            return;
        }
        assert!(!thread.reads.is_empty(), "retry without having read anything would wait forever");
        (thread.failures, thread.wasted) = (0, 0);
        let reads = take(&mut thread.reads);
        self.sleepers.sleep_while(&reads, || {
            if thread.is_alone() {
                // Everything still holds. The next thread that is alone, or that commits in a later
                // epoch, is ordered after us and finds us on the list.
                self.leave(thread);
                return true;
            }
            // We have counted ourselves before this. A thread that becomes alone later changes the
            // epoch and then reads the count. So we see the stamps of all that was written in place
            // before.
            !is_serial(self.serial.epoch()) && thread.all_hold(&reads, |_| None)
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
