//! The locks that a thread holds, newest last, each with the row of its acquisition.
//!
//! The list answers two questions. At a release, a thread asks how long it held the lock, if the
//! acquisition was timed. Another thread that has to wait asks which thread holds the lock. The
//! waiting thread reads memory that the memory's owner may change at any time: each word is read
//! whole, but two words may not belong together. A wrong answer then names a holder that has just
//! released the lock. It does no harm: rows stay mapped for ever, and a row that has moved reads as
//! zero. Therefore every access here is relaxed.

use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use syncline_recording::layout::{Row, WaitRecord};

use crate::thread::usage::Usage;

/// The number of locks that are kept. A thread that holds more forgets the oldest.
const PLACES: usize = 16;

/// A tag in the highest bit of a lock's address, which is 0 in a program's addresses. It says that
/// the row's address has tags too.
const TAGGED: u64 = 1 << 63;
/// The next bit, in the entry above the newest lock: [`Held::has_released_since`] has seen it.
const ASKED: u64 = 1 << 62;
/// A tag in the low bits of a row's address, which is a multiple of 64: the acquisition had to
/// wait.
const WAITED: usize = 1;
/// The acquisition is timed.
const TIMED: usize = 2;
/// The processor time of the hold is measured.
const LOOKED_AT: usize = 4;
/// The lock was released and taken again inside a wait.
const RESUMED: usize = 8;
const TAGS: usize = WAITED | TIMED | LOOKED_AT | RESUMED;

/// The locks that a thread holds.
#[repr(C)]
pub struct Held {
    count: AtomicU32,
    holds: [Entry; PLACES],
    /// The data that the tags announce. Only the owner uses them.
    notes: [Notes; PLACES],
}

/// A lock, and the row of its acquisition. The row counts either for this lock or for all locks of
/// a place.
#[repr(C)]
struct Entry {
    lock: AtomicU64,
    row: AtomicPtr<Row>,
}

struct Notes {
    since: Cell<u64>,
    weight: Cell<u32>,
    used: Cell<Usage>,
    resumed: Cell<Resumed>,
}

impl Notes {
    fn take_over(&self, from: &Notes) {
        self.since.set(from.since.get());
        self.weight.set(from.weight.get());
        self.used.set(from.used.get());
        self.resumed.set(from.resumed.get());
    }
}

/// The holder of a lock, and where it acquired the lock.
#[derive(Clone, Copy)]
pub struct Holder {
    /// Number of the stack at which it was acquired.
    pub stack: u32,
    /// Index of the thread.
    pub thread: u32,
}

/// A lock that a thread holds while it acquires another.
#[derive(Clone, Copy)]
pub struct Outer {
    /// The lock.
    pub lock: u64,
    /// Number of the stack at which it was acquired.
    pub stack: u32,
}

/// A lock that is held.
#[derive(Clone, Copy)]
pub struct Hold {
    /// The lock.
    pub lock: usize,
    /// The row of its acquisition.
    pub row: *mut Row,
    /// When it was acquired, in ticks, plus the waits in which it was released; `None` if it is not
    /// timed.
    pub since: Option<u64>,
    /// How often the time counts in the sums.
    pub weight: u32,
    /// Whether the thread had to wait for it.
    pub waited: bool,
    /// What the thread had used of processors at the start of the hold; `None` if that is not
    /// measured.
    pub used: Option<Usage>,
    /// The last wait in which it was released; `None` if there was none.
    pub resumed: Option<Resumed>,
}

/// A wait that released a lock, has ended, and has taken the lock again.
#[derive(Clone, Copy)]
pub struct Resumed {
    /// The object that was waited for; 0 if the thread was not woken.
    pub object: usize,
    /// The record in which the wait was counted; null if there is none.
    pub waits: *mut WaitRecord,
    /// When the wait ended, in ticks.
    pub at: u64,
    /// How often the thread had woken others by then.
    pub notices: u32,
}

impl Hold {
    /// A hold that is not timed.
    pub fn untimed(lock: usize, row: *mut Row) -> Hold {
        Hold { lock, row, since: None, weight: 1, waited: false, used: None, resumed: None }
    }

    fn tags(&self) -> usize {
        let tag = |is: bool, tag: usize| if is { tag } else { 0 };
        tag(self.waited, WAITED)
            | tag(self.since.is_some(), TIMED)
            | tag(self.used.is_some(), LOOKED_AT)
            | tag(self.resumed.is_some(), RESUMED)
    }
}

impl Held {
    /// Notes an acquisition that is not timed. False if no slot is left.
    #[inline(always)]
    pub fn push_untimed(&self, lock: usize, row: *mut Row) -> bool {
        let count = self.count.load(Relaxed) as usize;
        if count >= PLACES {
            return false;
        }
        // The slot is claimed before it is filled in, so that a signal handler that locks and
        // unlocks in between leaves it alone.
        self.count.store(count as u32 + 1, Relaxed);
        self.holds[count].lock.store(lock as u64, Relaxed);
        self.holds[count].row.store(row, Relaxed);
        true
    }

    /// Notes any acquisition. If no slot is left, forgets the oldest one.
    pub fn push(&self, hold: Hold) {
        if self.count.load(Relaxed) as usize >= PLACES {
            self.close_gap(0, PLACES);
        }
        let count = self.count.load(Relaxed) as usize % PLACES;
        self.count.store(count as u32 + 1, Relaxed);
        let notes = &self.notes[count];
        if let Some(since) = hold.since {
            notes.since.set(since);
            notes.weight.set(hold.weight);
        }
        if let Some(used) = hold.used {
            notes.used.set(used);
        }
        if let Some(resumed) = hold.resumed {
            notes.resumed.set(resumed);
        }
        self.holds[count].set(hold.lock as u64, hold.row, hold.tags());
    }

    /// Adds the thread's processor time until now to the newest hold, which counts from now on.
    pub fn look_at_newest(&self, used: Usage) {
        let count = self.count.load(Relaxed) as usize;
        if let Some(newest) = count.checked_sub(1).filter(|&newest| newest < PLACES) {
            self.notes[newest].used.set(used);
            self.notes[newest].since.set(used.at);
            let (lock, row, tags) = self.holds[newest].get();
            self.holds[newest].set(lock, row, tags | TIMED | LOOKED_AT);
        }
    }

    /// Lets the newest hold count from this moment on, if it is of this lock and timed.
    pub fn count_newest_from(&self, lock: usize, now: u64) {
        let count = self.count.load(Relaxed) as usize;
        if let Some(newest) = count.checked_sub(1).filter(|&newest| newest < PLACES) {
            let (held, _, tags) = self.holds[newest].get();
            if held == lock as u64 && tags & TIMED != 0 {
                self.notes[newest].since.set(now);
            }
        }
    }

    /// Removes the newest hold, if it is of this lock and has no tags. Otherwise returns false, and
    /// [`pop`] finds the hold.
    ///
    /// [`pop`]: Held::pop
    #[inline(always)]
    pub fn pop_untimed(&self, lock: usize) -> bool {
        let count = self.count.load(Relaxed) as usize;
        if count == 0 {
            return false;
        }
        if self.holds[(count - 1) % PLACES].lock.load(Relaxed) != lock as u64 {
            return false;
        }
        self.count.store(count as u32 - 1, Relaxed);
        true
    }

    /// Removes the newest hold of a lock, and returns it; `None` if there is none.
    pub fn pop(&self, lock: usize) -> Option<Hold> {
        let place = self.newest(|held| held == lock as u64)?;
        let notes = &self.notes[place];
        let (_, row, tags) = self.holds[place].get();
        let has = |tag: usize| tags & tag != 0;
        let hold = Hold {
            lock,
            row,
            since: has(TIMED).then(|| notes.since.get()),
            weight: if has(TIMED) { notes.weight.get() } else { 1 },
            waited: has(WAITED),
            used: has(LOOKED_AT).then(|| notes.used.get()),
            resumed: has(RESUMED).then(|| notes.resumed.get()),
        };
        self.close_gap(place, self.count.load(Relaxed) as usize);
        Some(hold)
    }

    /// The index of the newest hold whose lock fits.
    fn newest(&self, fits: impl Fn(u64) -> bool) -> Option<usize> {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        (0..count).rev().find(|&place| fits(self.holds[place].get().0))
    }

    /// The newest hold of any other lock, and the row of its acquisition.
    pub fn newest_other(&self, lock: usize) -> Option<(u64, *mut Row)> {
        let (lock, row, _) = self.holds[self.newest(|held| held != lock as u64)?].get();
        (!row.is_null()).then_some((lock, row))
    }

    /// Removes a hold: moves the newer ones down by one. A program that takes locks hand over hand
    /// does this at nearly every release, so notes are moved only if tags announce some.
    fn close_gap(&self, gap: usize, count: usize) {
        for from in gap + 1..count.min(PLACES) {
            let (lock, row, tags) = self.holds[from].get();
            self.holds[from - 1].set(lock, row, tags);
            if tags != 0 {
                self.notes[from - 1].take_over(&self.notes[from]);
            }
        }
        self.count.store(count as u32 - 1, Relaxed);
    }

    /// The row with which this lock was acquired, if the thread holds it. Any thread may ask.
    pub fn find(&self, lock: usize) -> Option<*mut Row> {
        let (_, row, _) = self.holds[self.newest(|held| held == lock as u64)?].get();
        (!row.is_null()).then_some(row)
    }

    /// The row with which this lock was acquired, if the thread released it last, and it was the
    /// newest lock that the thread held. A hold is removed just before the lock is free. Any thread
    /// may ask.
    pub fn find_released(&self, lock: usize) -> Option<*mut Row> {
        let (released, row, _) = self.holds.get(self.count.load(Relaxed) as usize)?.get();
        (!row.is_null() && released == lock as u64).then_some(row)
    }

    /// Forgets which lock the thread released last.
    pub fn forget_released(&self) {
        if let Some(released) = self.holds.get(self.count.load(Relaxed) as usize) {
            released.lock.store(0, Relaxed);
        }
    }

    /// Whether the thread has released a lock since it last asked, at this depth of nesting. Only
    /// the owner asks.
    pub fn has_released_since(&self) -> bool {
        let Some(released) = self.holds.get(self.count.load(Relaxed) as usize) else {
            return false;
        };
        let lock = released.lock.load(Relaxed);
        released.lock.store(lock | ASKED, Relaxed);
        lock & ASKED == 0
    }

    /// Updates the rows of all holds after rows have moved: `new_place` gives the new address of
    /// each.
    pub fn relocate(&self, new_place: impl Fn(*mut Row) -> *mut Row) {
        let count = (self.count.load(Relaxed) as usize).min(PLACES);
        for entry in &self.holds[..count] {
            let (lock, row, tags) = entry.get();
            if !row.is_null() {
                entry.set(lock, new_place(row), tags);
            }
        }
    }

    /// Forgets all holds.
    pub fn clear(&self) {
        self.count.store(0, Relaxed);
    }
}

impl Entry {
    /// The lock, the row and the tags.
    fn get(&self) -> (u64, *mut Row, usize) {
        let tagged = self.row.load(Relaxed);
        let row = tagged.map_addr(|address| address & !TAGS);
        (self.lock.load(Relaxed) & !(TAGGED | ASKED), row, tagged.addr() & TAGS)
    }

    fn set(&self, lock: u64, row: *mut Row, tags: usize) {
        self.lock.store(lock | if tags == 0 { 0 } else { TAGGED }, Relaxed);
        self.row.store(row.map_addr(|address| address | tags), Relaxed);
    }
}
