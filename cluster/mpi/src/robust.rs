//! The locks of the schemes that survive the death of a rank, in a segment:
//!
//! ```text
//!   0     the segment's token
//!   64    the rank that repairs after a death, and whether the queues are broken; often read
//!   128   Global
//!   256   for each rank a lock, 128 bytes apart, with a word that says whether an owner has died
//!   ...   a row for each rank: its process, the number of queues that it is in, and what it has
//!         added to the words
//!   ...   queues in front of the locks, if the scheme has them (`ordered`)
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use syncline::memory::Memory;
use syncline::wait::Yield;
use syncline::window::{BestEffort, Global, Robust, Table};
use syncline_fabric::Process;

use crate::locks::{GLOBAL, LINE, LOCKS, Locks, ORPHANED, Refusal};
use crate::segment::{Area, Segment};

const REPAIRER: usize = 64;
const BROKEN: usize = 68;
/// After a failed attempt, a rank checks for deaths at most once in this many milliseconds.
const ASK_AFTER: u64 = 100;
/// The offset, in a rank's row, of the number of queues that the rank is in. The rank's process
/// comes before it.
const LINED: usize = 60;
const ENTRIES: usize = 64;

/// The size in bytes of a segment for this many ranks.
pub fn size(ranks: usize) -> usize {
    rows(ranks) + ranks * row(ranks)
}

fn rows(ranks: usize) -> usize {
    LOCKS + ranks * LINE
}

fn row(ranks: usize) -> usize {
    (ENTRIES + (ranks + 1) * size_of::<u32>()).next_multiple_of(LINE)
}

/// The time, as all ranks read it.
fn milliseconds() -> u64 {
    Segment::now().as_millis() as u64
}

/// The words of a segment of [`size`] bytes, for one rank.
pub struct Words<const BACK_OFF: bool> {
    area: Arc<Area>,
    own: Process,
    rank: usize,
    ranks: usize,
    /// The time in milliseconds at which a failed attempt last checked which ranks are alive; at
    /// first, the time at which these words were made.
    asked: AtomicU64,
}

/// Makes the locks in a segment of [`size`] bytes, for this rank or its stand-in. `process` is the
/// rank's process.
pub fn table<const BACK_OFF: bool>(
    area: Arc<Area>,
    rank: usize,
    ranks: usize,
    process: Process,
) -> Arc<dyn Locks> {
    Arc::new(Words::<BACK_OFF>::new(area, rank, ranks, process))
}

impl<const BACK_OFF: bool> Words<BACK_OFF> {
    /// The words for this rank or its stand-in. `process` is the rank's process.
    pub fn new(area: Arc<Area>, rank: usize, ranks: usize, process: Process) -> Self {
        const { assert!(size_of::<Process>() <= LINED) };
        let asked = AtomicU64::new(milliseconds());
        let words = Words { area, own: Process::own(), rank, ranks, asked };
        // SAFETY: the beginning of the row belongs to this rank, and no other rank reads it before
        // this rank has added something to the words. If it were read half-written, the process
        // would count as alive, and nothing worse would happen.
        unsafe { words.process(rank).write_volatile(process) };
        words
    }

    /// The rank that uses these words.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Whether the queues in front of the words are broken.
    pub fn broken(&self) -> &AtomicU32 {
        self.word(BROKEN)
    }

    /// The number of queues that a rank is in.
    pub fn lined(&self, rank: usize) -> &AtomicU32 {
        assert!(rank < self.ranks);
        self.word(rows(self.ranks) + rank * row(self.ranks) + LINED)
    }

    fn process(&self, rank: usize) -> *mut Process {
        self.area.at(rows(self.ranks) + rank * row(self.ranks))
    }

    fn is_time_to_ask(&self) -> bool {
        let now = milliseconds();
        // Relaxed: nothing is wrong if two threads check at the same time.
        let is_time = now.saturating_sub(self.asked.load(Relaxed)) >= ASK_AFTER;
        if is_time {
            self.asked.store(now, Relaxed);
        }
        is_time
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: the segment has a word at this position, which is zero at first. All processes
        // change it only by atomic operations.
        unsafe { &*self.area.at(at) }
    }

    #[inline]
    fn locks(&self) -> Robust<'_, BACK_OFF, Yield, Segment, Self> {
        Robust::new(self, self.rank)
    }

    #[inline]
    unsafe fn take(&self, target: usize, exclusive: bool, deadline: Option<Duration>) -> bool {
        // SAFETY: our caller's promise.
        unsafe {
            if exclusive {
                self.locks().acquire(target, deadline)
            } else {
                self.locks().acquire_shared(target, deadline)
            }
        }
    }
}

impl<const BACK_OFF: bool> Table<BACK_OFF, Yield, Segment> for Words<BACK_OFF> {
    fn ranks(&self) -> usize {
        self.ranks
    }

    fn global(&self) -> &Global<Yield, Segment> {
        // SAFETY: the segment has the word at this position. Its initial state is zero, and all
        // processes change it only by atomic operations.
        unsafe { &*self.area.at(GLOBAL) }
    }

    fn part(&self, target: usize) -> &BestEffort<BACK_OFF, Yield, Segment> {
        assert!(target < self.ranks);
        // SAFETY: the segment has a lock for each rank, zero at first, as above.
        unsafe { &*self.area.at(LOCKS + target * LINE) }
    }

    fn entry(&self, rank: usize, target: usize) -> &AtomicU32 {
        assert!(rank < self.ranks && target <= self.ranks);
        self.word(rows(self.ranks) + rank * row(self.ranks) + ENTRIES + target * size_of::<u32>())
    }

    fn orphaned(&self, target: usize) -> &AtomicU32 {
        assert!(target < self.ranks);
        self.word(LOCKS + target * LINE + ORPHANED)
    }

    fn repairer(&self) -> &AtomicU32 {
        self.word(REPAIRER)
    }

    fn lives(&self, rank: usize) -> bool {
        // SAFETY: the beginning of a row is written once, before its rank adds anything to the
        // words.
        unsafe { self.process(rank).read_volatile() }.lives(&self.own)
    }
}

impl<const BACK_OFF: bool> Locks for Words<BACK_OFF> {
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal> {
        // SAFETY: our caller's promise.
        unsafe { self.take(target, exclusive, None) };
        Ok(())
    }

    unsafe fn acquire_until(
        &self,
        target: usize,
        exclusive: bool,
        deadline: Duration,
    ) -> Result<bool, Refusal> {
        // SAFETY: our caller's promise.
        let mut taken = unsafe { self.take(target, exclusive, Some(deadline)) };
        // A rank that never waits for a lock must also check for deaths from time to time.
        if !taken && self.is_time_to_ask() && self.locks().repair_after_deaths() {
            // SAFETY: our caller's promise still holds, since nothing was acquired.
            taken = unsafe { self.take(target, exclusive, Some(Segment::now())) };
        }
        Ok(taken)
    }

    unsafe fn release(&self, target: usize, exclusive: bool) {
        // SAFETY: our caller's promise.
        unsafe {
            if exclusive {
                self.locks().release(target);
            } else {
                self.locks().release_shared(target);
            }
        }
    }

    fn acquire_all(&self) -> Result<(), Refusal> {
        self.locks().acquire_all();
        Ok(())
    }

    fn try_acquire_all(&self) -> Result<bool, Refusal> {
        Ok(self.locks().try_acquire_all())
    }

    fn release_all(&self) {
        self.locks().release_all();
    }

    fn is_orphaned(&self, target: usize) -> bool {
        self.locks().is_orphaned(target)
    }

    fn orphan(&self, target: usize) {
        // Relaxed: the release of the part publishes the mark.
        self.orphaned(target).store(1, Relaxed);
    }

    fn make_consistent(&self, target: usize) {
        self.locks().make_consistent(target);
    }
}
