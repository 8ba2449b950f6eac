//! The locks that a thread holds, newest last.
//!
//! It answers two questions: how long was this lock held (asked by its own thread at
//! release, for the acquisitions that are timed), and who holds the lock that I wait for
//! (asked by another thread). The second is a look at memory that its owner changes at will:
//! each word is read whole, but two words may not belong together. A wrong answer then
//! blames a holder that has just let go, and harms nothing: rows stay mapped forever.
//! Hence every access here is relaxed.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use syncline_recording::layout::Row;

/// Locks that are kept; a thread that holds more forgets the oldest.
pub const PLACES: usize = 16;

/// A lock that is held.
pub struct Place {
    lock: AtomicU64,
    /// The row of its acquisition; the low bit says that it had to be waited for.
    row: AtomicPtr<Row>,
    /// When it was acquired, in ticks; 0 if that was not timed.
    since: AtomicU64,
}

/// The locks that a thread holds.
#[repr(C)]
pub struct Held {
    count: AtomicU32,
    places: [Place; PLACES],
}

/// A lock that a thread lets go of.
#[derive(Clone, Copy)]
pub struct Hold {
    /// The row of its acquisition.
    pub row: *mut Row,
    /// When it was acquired, in ticks; 0 if that was not timed.
    pub since: u64,
    /// Whether it had to be waited for.
    pub waited: bool,
}

impl Held {
    /// Notes an acquisition.
    #[inline(always)]
    pub fn push(&self, lock: usize, hold: Hold) {
        let mut count = self.count.load(Relaxed) as usize;
        if count >= PLACES {
            self.forget_oldest();
            count = PLACES - 1;
        }
        // The place is taken before it is filled in, so that a signal handler which
        // locks and unlocks in between leaves it alone.
        self.count.store(count as u32 + 1, Relaxed);
        let place = &self.places[count & (PLACES - 1)];
        place.lock.store(lock as u64, Relaxed);
        place.row.store(hold.row.map_addr(|a| a | usize::from(hold.waited)), Relaxed);
        place.since.store(hold.since, Relaxed);
    }

    /// Takes out the newest hold of a lock; none if it isn't there.
    #[inline(always)]
    pub fn pop(&self, lock: usize) -> Option<Hold> {
        let count = self.count.load(Relaxed) as usize;
        if count == 0 {
            return None;
        }
        let place = &self.places[(count - 1) & (PLACES - 1)];
        if place.lock.load(Relaxed) != lock as u64 {
            return self.pop_inner(lock, count);
        }
        let hold = place.get();
        self.count.store(count as u32 - 1, Relaxed);
        Some(hold)
    }

    /// Takes out a hold that is not the newest.
    #[inline(never)]
    fn pop_inner(&self, lock: usize, count: usize) -> Option<Hold> {
        let found =
            (0..count.min(PLACES)).rev().find(|&i| self.places[i].lock.load(Relaxed) == lock as u64)?;
        let hold = self.places[found].get();
        self.close_gap(found, count.min(PLACES));
        self.count.store(count as u32 - 1, Relaxed);
        Some(hold)
    }

    #[cold]
    fn forget_oldest(&self) {
        self.close_gap(0, PLACES);
        self.count.store(PLACES as u32 - 1, Relaxed);
    }

    fn close_gap(&self, gap: usize, count: usize) {
        for i in gap + 1..count {
            let (from, to) = (&self.places[i], &self.places[i - 1]);
            to.lock.store(from.lock.load(Relaxed), Relaxed);
            to.row.store(from.row.load(Relaxed), Relaxed);
            to.since.store(from.since.load(Relaxed), Relaxed);
        }
    }

    /// The row with which this lock was acquired, if it is held. For other threads.
    pub fn find(&self, lock: usize) -> Option<*mut Row> {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        let place =
            self.places[..count].iter().rev().find(|p| p.lock.load(Relaxed) == lock as u64)?;
        Some(place.get().row)
    }

    /// Rows that have moved: asks for the new place of each.
    pub fn relocate(&self, new_place: impl Fn(*mut Row) -> *mut Row) {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        for place in &self.places[..count] {
            let hold = place.get();
            let row = new_place(hold.row);
            place.row.store(row.map_addr(|a| a | usize::from(hold.waited)), Relaxed);
        }
    }

    /// The row of the newest hold.
    pub fn newest(&self) -> Option<*mut Row> {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        self.places[..count].last().map(|place| place.get().row)
    }

    /// Lets go of everything.
    pub fn clear(&self) {
        self.count.store(0, Relaxed);
    }
}

impl Place {
    #[inline(always)]
    fn get(&self) -> Hold {
        let row = self.row.load(Relaxed);
        Hold {
            row: row.map_addr(|a| a & !1),
            since: self.since.load(Relaxed),
            waited: row.addr() & 1 == 1,
        }
    }
}
