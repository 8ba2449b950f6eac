//! The locks that a thread holds, newest last, as the rows of their acquisitions.
//!
//! It answers two questions: how long was this lock held (asked by its own thread at
//! release, for the acquisitions that are timed), and who holds the lock that I wait for
//! (asked by another thread). The second is a look at memory that its owner changes at will:
//! each word is read whole, but two words may not belong together. A wrong answer then
//! blames a holder that has just let go, and harms nothing: rows stay mapped forever, and
//! one that has moved reads as zero. Hence every access here is relaxed.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use syncline_recording::layout::Row;

/// Locks that are kept; a thread that holds more forgets the oldest.
const PLACES: usize = 16;

/// Low bits of a row's address, which is a multiple of 64: the acquisition had to wait.
const WAITED: usize = 1;
/// The acquisition is timed.
const TIMED: usize = 2;

/// The locks that a thread holds.
#[repr(C)]
pub struct Held {
    count: AtomicU32,
    rows: [AtomicPtr<Row>; PLACES],
    /// When the timed ones were acquired, in ticks.
    since: [AtomicU64; PLACES],
}

/// A lock that is held.
#[derive(Clone, Copy)]
pub struct Hold {
    /// The row of its acquisition.
    pub row: *mut Row,
    /// When it was acquired, in ticks; none if that is not timed.
    pub since: Option<u64>,
    /// Whether it had to be waited for.
    pub waited: bool,
}

fn row_of(tagged: *mut Row) -> *mut Row {
    tagged.map_addr(|a| a & !(WAITED | TIMED))
}

/// # Safety
/// The row is mapped. It may be another thread's.
#[inline(always)]
unsafe fn lock_of(row: *mut Row) -> u64 {
    // SAFETY: by this function's own condition.
    unsafe { AtomicU64::from_ptr(&raw mut (*row).lock).load(Relaxed) }
}

impl Held {
    /// Notes an acquisition that is not timed. False if there is no place left.
    #[inline(always)]
    pub fn push_untimed(&self, row: *mut Row) -> bool {
        let count = self.count.load(Relaxed) as usize;
        if count >= PLACES {
            return false;
        }
        // The place is taken before it is filled in, so that a signal handler which
        // locks and unlocks in between leaves it alone.
        self.count.store(count as u32 + 1, Relaxed);
        self.rows[count].store(row, Relaxed);
        true
    }

    /// Notes any acquisition; forgets the oldest if there is no place left.
    pub fn push(&self, hold: Hold) {
        if self.count.load(Relaxed) as usize >= PLACES {
            self.close_gap(0, PLACES);
        }
        let count = self.count.load(Relaxed) as usize % PLACES;
        self.count.store(count as u32 + 1, Relaxed);
        let waited = if hold.waited { WAITED } else { 0 };
        let timed = if hold.since.is_some() { TIMED } else { 0 };
        self.since[count].store(hold.since.unwrap_or(0), Relaxed);
        self.rows[count].store(hold.row.map_addr(|a| a | waited | timed), Relaxed);
    }

    /// Takes out the newest hold, if it is of this lock and not timed. If not, [`pop`] tells.
    ///
    /// [`pop`]: Held::pop
    #[inline(always)]
    pub fn pop_untimed(&self, lock: usize) -> bool {
        let count = self.count.load(Relaxed) as usize;
        if count == 0 {
            return true;
        }
        let row = self.rows[(count - 1) % PLACES].load(Relaxed);
        // SAFETY: rows stay mapped; a tagged address is looked at only as an address.
        if row.addr() & (WAITED | TIMED) != 0 || unsafe { lock_of(row) } != lock as u64 {
            return false;
        }
        self.count.store(count as u32 - 1, Relaxed);
        true
    }

    /// Takes out the newest hold of a lock; none if it isn't there.
    pub fn pop(&self, lock: usize) -> Option<Hold> {
        let (place, hold) = self.newest_of(lock)?;
        self.close_gap(place, self.count.load(Relaxed) as usize);
        Some(hold)
    }

    /// The newest hold of a lock, and its place.
    fn newest_of(&self, lock: usize) -> Option<(usize, Hold)> {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        (0..count).rev().find_map(|place| {
            let tagged = self.rows[place].load(Relaxed);
            let row = row_of(tagged);
            // SAFETY: rows stay mapped, and a place below the count has had one.
            let found = !row.is_null() && unsafe { lock_of(row) } == lock as u64;
            let timed = tagged.addr() & TIMED != 0;
            let since = timed.then(|| self.since[place].load(Relaxed));
            let waited = tagged.addr() & WAITED != 0;
            found.then_some((place, Hold { row, since, waited }))
        })
    }

    /// Moves the newer holds down by one, and counts one less.
    fn close_gap(&self, gap: usize, count: usize) {
        for from in gap + 1..count.min(PLACES) {
            self.rows[from - 1].store(self.rows[from].load(Relaxed), Relaxed);
            self.since[from - 1].store(self.since[from].load(Relaxed), Relaxed);
        }
        self.count.store(count as u32 - 1, Relaxed);
    }

    /// The row with which this lock was acquired, if it is held. For other threads.
    pub fn find(&self, lock: usize) -> Option<*mut Row> {
        self.newest_of(lock).map(|(_, hold)| hold.row)
    }

    /// The row with which this lock was acquired, if it is what the thread last let go of:
    /// a hold is taken out just before the lock is free. For other threads.
    pub fn find_released(&self, lock: usize) -> Option<*mut Row> {
        let row = row_of(self.rows.get(self.count.load(Relaxed) as usize)?.load(Relaxed));
        // SAFETY: rows stay mapped.
        (!row.is_null() && unsafe { lock_of(row) } == lock as u64).then_some(row)
    }

    /// Rows that have moved: asks for the new place of each.
    pub fn relocate(&self, new_place: impl Fn(*mut Row) -> *mut Row) {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        for place in &self.rows[..count] {
            let tagged = place.load(Relaxed);
            let row = row_of(tagged);
            let tags = tagged.addr() ^ row.addr();
            if !row.is_null() {
                place.store(new_place(row).map_addr(|a| a | tags), Relaxed);
            }
        }
    }

    /// The row of the newest hold.
    pub fn newest(&self) -> Option<*mut Row> {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        let row = row_of(self.rows[..count].last()?.load(Relaxed));
        (!row.is_null()).then_some(row)
    }

    /// Lets go of everything.
    pub fn clear(&self) {
        self.count.store(0, Relaxed);
    }
}
