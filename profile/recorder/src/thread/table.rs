//! Tables of rows, in the recording's file.
//!
//! A thread has two. That of its *places* is nearly empty on purpose, so that the row of an
//! operation mostly lies at the first place looked at, and so small that it stays in the cache.
//! That of its *locks* has the rows of single locks, where a place has more than one. [`rows`]
//! says which row is in which.
//!
//! Open addressing, with the next place tried where one is taken. Rows are never taken out; a
//! table that becomes too full is exchanged for one of twice the size.
//!
//! [`rows`]: crate::thread::rows

use core::cell::Cell;
use core::mem::offset_of;
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};

use syncline_interpose::with_signals_blocked;
use syncline_recording::layout::{Row, ThreadRecord};

use crate::count::add;
use crate::recorder;
use crate::thread::ThreadState;

/// What differs between the tables.
pub struct Kind {
    /// Where a row is looked for first, before the mask.
    hash: fn(&Row) -> u64,
    /// A table of so many places becomes no fuller than this, if there is room for another.
    fullest: fn(u64) -> u64,
    /// Where a thread's record has the table's word.
    word: usize,
    /// Which table of a thread it is.
    of: fn(&ThreadState) -> &Table,
}

/// Rows found by place.
pub const PLACES: Kind = Kind {
    hash: |row| hash_of_place(row.ret as usize, row.key),
    fullest: |places| places / 4,
    word: offset_of!(ThreadRecord, places),
    of: |state| &state.places,
};

/// Rows found by lock and place.
pub const LOCKS: Kind = Kind {
    hash: |row| hash_of_lock(row.lock as usize, row.ret as usize, row.key),
    fullest: |places| places / 2,
    word: offset_of!(ThreadRecord, table),
    of: |state| &state.locks,
};

/// Odd numbers with no pattern.
const SCATTER: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// Where the row of a place is looked for first, before the mask.
#[inline(always)]
pub fn hash_of_place(ret: usize, key: u64) -> u64 {
    folded(ret as u64 ^ key << 20, SCATTER[0])
}

/// Where the row of a lock at a place is looked for first, before the mask.
#[inline(always)]
pub fn hash_of_lock(lock: usize, ret: usize, key: u64) -> u64 {
    let place = (ret as u64 ^ key << 20).wrapping_mul(SCATTER[0]);
    folded(place.wrapping_add(lock as u64), SCATTER[1])
}

/// Both halves of a product in one: each bit depends on all of the input. With one half, locks at
/// a fixed distance from each other may come to lie in runs.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Rows of a new table, log 2: one page.
const FIRST_LOG2: u32 = 6;
/// Largest table, log 2: a gigabyte.
const LAST_LOG2: u32 = 24;

/// A table of a thread. All zero is none.
#[repr(C)]
pub struct Table {
    first: Cell<*mut Row>,
    /// Places, less one.
    mask: Cell<u64>,
    used: Cell<u32>,
    /// The one before, log 2 of its places: it stays until the next exchange, for an operation that a
    /// signal handler interrupted before it was counted, and in which the table was exchanged. Its
    /// calls are zero again, so that what is counted there later is found, and added to the new one.
    before_log2: Cell<u32>,
    before: Cell<*mut Row>,
}

impl Table {
    /// Whether there is one.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        !self.first.get().is_null()
    }

    /// Forgets it. The one before is given back.
    pub fn leave(&self, kind: &Kind) {
        self.give_back_before(kind);
        self.first.set(null_mut());
        self.mask.set(0);
        self.used.set(0);
    }

    fn give_back_before(&self, kind: &Kind) {
        let before = self.before.replace(null_mut());
        let Some(recorder) = recorder::existing().filter(|_| !before.is_null()) else { return };
        let log2 = self.before_log2.get();
        for row in (0..1 << log2).map(|place| before.wrapping_add(place)) {
            // SAFETY: rows of this thread's own tables.
            unsafe {
                let moved = if (*row).calls == 0 { None } else { self.same(kind, &*row) };
                if let Some(moved) = moved {
                    add(&raw mut (*moved).calls, (*row).calls);
                }
            }
        }
        // SAFETY: this thread's own, and no row of it counts any more.
        unsafe { recorder.file().give_back(&recorder.shelf, before, log2) };
    }

    /// The row of what another row counts, which comes from the table before.
    unsafe fn same(&self, kind: &Kind, row: &Row) -> Option<*mut Row> {
        let is = |new: &Row| (new.lock, new.ret, new.key) == (row.lock, row.ret, row.key);
        // SAFETY: the table is the calling thread's own.
        unsafe { self.find((kind.hash)(row), is) }
    }

    /// Rows in use.
    pub fn used(&self) -> u32 {
        self.used.get()
    }

    /// Where a row is looked for first. The table is there.
    #[inline(always)]
    pub fn home(&self, hash: u64) -> *mut Row {
        // The mask keeps the index within the table.
        self.first.get().wrapping_add((hash & self.mask.get()) as usize)
    }

    /// The places where a row may be, in the order in which they are tried.
    fn places(&self, hash: u64) -> impl Iterator<Item = *mut Row> + Clone {
        let (first, mask) = (self.first.get(), self.mask.get());
        let places = if first.is_null() { 0 } else { mask + 1 };
        (0..places).map(move |step| first.wrapping_add((hash.wrapping_add(step) & mask) as usize))
    }

    /// The row that fits, if it is there.
    ///
    /// # Safety
    /// The table is the calling thread's own, as in all that follows.
    #[inline]
    pub unsafe fn find(&self, hash: u64, fits: impl Fn(&Row) -> bool) -> Option<*mut Row> {
        // SAFETY: rows of one's own table. As none is ever taken out, a row is not there if an
        // empty place is met first.
        let ends = |&row: &*mut Row| unsafe { (*row).key == 0 || fits(&*row) };
        let row = self.places(hash).find(ends)?;
        // SAFETY: as above.
        unsafe { ((*row).key != 0).then_some(row) }
    }

    /// Whether one more row fits without an exchange.
    pub fn has_room(&self, kind: &Kind) -> bool {
        self.is_there() && u64::from(self.used.get()) < (kind.fullest)(self.mask.get() + 1)
    }

    /// Puts a row into the table; none if there is no room for it. Larger tables are had for it,
    /// so that rows may move.
    ///
    /// # Safety
    /// The state is the calling thread's own, marked busy. The row has a key, and is not there yet.
    pub unsafe fn put(kind: &Kind, state: &ThreadState, row: Row) -> Option<*mut Row> {
        let table = (kind.of)(state);
        let places = table.mask.get() + 1;
        // SAFETY: by this function's own condition.
        unsafe {
            if !table.is_there() {
                exchange(kind, state, FIRST_LOG2)?;
            } else if !table.has_room(kind)
                && (places >> LAST_LOG2 != 0
                    || exchange(kind, state, places.trailing_zeros() + 1).is_none())
                && u64::from(table.used.get()) >= places / 4 * 3
            {
                // Without room for a larger one, this one fills up, as far as looking into it
                // stays quick.
                return None;
            }
            let place = table.places((kind.hash)(&row)).find(|&place| (*place).key == 0)?;
            place.write(Row { key: 0, ..row });
            // A row is complete once its key is there: Release, for readers of the file.
            AtomicU64::from_ptr(&raw mut (*place).key).store(row.key, Ordering::Release);
            table.used.set(table.used.get() + 1);
            (*state.record.get()).rows = state.places.used() + state.locks.used();
            Some(place)
        }
    }

    /// Goes on with the table that a thread left, by the word of its record.
    ///
    /// # Safety
    /// The table is the calling thread's own from here on.
    pub unsafe fn take_over(&self, kind: &Kind, word: u64) {
        let Some(recorder) = recorder::existing().filter(|_| word != 0) else {
            return self.leave(kind);
        };
        self.first.set(recorder.file().unit(word & 0xffff_ffff_ffff).cast());
        self.mask.set((1 << (word >> 48)) - 1);
        // SAFETY: by this function's own condition.
        self.used.set(self.places(0).filter(|&row| unsafe { (*row).key != 0 }).count() as u32);
    }
}

/// Gives the thread its first table. False if there is no room.
///
/// # Safety
/// The state is the calling thread's own, and has none.
pub unsafe fn begin(state: &ThreadState) -> bool {
    // SAFETY: by this function's own condition.
    unsafe { exchange(&PLACES, state, FIRST_LOG2).is_some() }
}

/// Exchanges a thread's table for one of this size, with the same rows; none if there is no room.
///
/// Signals are blocked meanwhile: what a handler counts in a row that is already copied would be
/// lost.
unsafe fn exchange(kind: &Kind, state: &ThreadState, log2: u32) -> Option<()> {
    let recorder = recorder::existing()?;
    if recorder.file().is_full() {
        return None;
    }
    let unit = recorder.file().new_table(&recorder.shelf, log2)?;
    let table = (kind.of)(state);
    let old = table.places(0);
    let is_used = |&row: &*mut Row| {
        // SAFETY: rows of this thread's own tables.
        unsafe { (*row).key != 0 }
    };
    with_signals_blocked(|| {
        let (old_first, old_places) = (table.first.get(), old.size_hint().0);
        table.first.set(recorder.file().unit(unit).cast());
        table.mask.set((1 << log2) - 1);
        // SAFETY: both tables are this thread's own; the new one is zeroed and real, and larger.
        unsafe {
            for row in old.clone().filter(is_used) {
                let empty = |&place: &*mut Row| (*place).key == 0;
                if let Some(place) = table.places((kind.hash)(&*row)).find(empty) {
                    place.write(*row);
                }
            }
            let record = state.record.get();
            (*record).exchanges = (*record).exchanges.wrapping_add(1);
            // Readers of the file follow this word to the rows copied above: Release.
            let word = record.byte_add(kind.word).cast::<u64>();
            AtomicU64::from_ptr(word).store(u64::from(log2) << 48 | unit, Ordering::Release);
            for row in old.filter(is_used) {
                // After the above, for readers that still look at this row: Release.
                AtomicU64::from_ptr(&raw mut (*row).calls).store(0, Ordering::Release);
            }
            if !old_first.is_null() {
                let moved: Range<*mut Row> = old_first..old_first.wrapping_add(old_places);
                state.held.relocate(|row| match moved.contains(&row) {
                    true => table.same(kind, &*row).unwrap_or(row),
                    false => row,
                });
                table.give_back_before(kind);
                table.before.set(old_first);
                table.before_log2.set(old_places.trailing_zeros());
            }
        }
    });
    Some(())
}
