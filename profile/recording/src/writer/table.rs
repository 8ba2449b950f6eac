//! The tables of rows of a thread, in the file.
//!
//! A thread has two tables. Its table of *places* has few rows compared with its slots, so the row
//! of an operation is usually in the first slot searched. The table is small enough to stay in the
//! cache. The table of *locks* has the rows of single locks, for places with more than one lock.
//! The code that counts decides which row is in which table.
//!
//! The tables use open addressing: if a slot has another row, the next slot is tried. Rows are
//! never removed. A table that becomes too full is replaced by one of twice the size.

use core::cell::Cell;
use core::mem::offset_of;
use core::ops::Range;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};

use syncline_interpose::with_signals_blocked;

use super::counter::add;
use super::room::Room;
use super::shelf::{FIRST_LOG2, LAST_LOG2};
use crate::layout::{APART, PATH_SHIFT, Row, ThreadRecord};

/// What differs between the two tables.
pub struct Kind {
    /// The hash of a row. Masked by the table's size, it is the first slot in which the row is
    /// looked for.
    hash: fn(&Row) -> u64,
    /// The most rows in a table of this many slots, as long as there is space for a larger one.
    fullest: fn(u64) -> u64,
    /// The offset, in a thread's record, of the word that leads to the table.
    word: usize,
}

/// The table in which rows are found by place.
pub const PLACES: Kind = Kind {
    hash: |row| hash_of_place(row.ret as usize, row.key),
    fullest: |slots| slots / 4,
    word: offset_of!(ThreadRecord, places),
};

/// The table in which rows are found by lock and place.
pub const LOCKS: Kind = Kind {
    hash: |row| hash_of_lock(row.lock as usize, row.ret as usize, row.key),
    fullest: |slots| slots / 2,
    word: offset_of!(ThreadRecord, table),
};

/// Odd factors whose bits are irregular.
const SCATTER: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f];

/// The hash of the row of a place, which consists of the return address and the key.
#[inline(always)]
pub fn hash_of_place(ret: usize, key: u64) -> u64 {
    folded(mixed(ret, key), SCATTER[0])
}

/// The hash of the row of a lock at a place.
#[inline(always)]
pub fn hash_of_lock(lock: usize, ret: usize, key: u64) -> u64 {
    let place = mixed(ret, key).wrapping_mul(SCATTER[0]);
    folded(place.wrapping_add(lock as u64), SCATTER[1])
}

/// The return address and the key, without the bit [`APART`]: a place from before its callers were
/// distinguished gets this bit where it is.
#[inline(always)]
fn mixed(ret: usize, key: u64) -> u64 {
    let path = key << 1 >> (PATH_SHIFT + 1);
    ret as u64 ^ key << 20 ^ path
}

/// The two halves of the product, combined so that each bit depends on all bits of `a`. With only
/// one half, locks at a fixed distance from each other could get neighbouring slots.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Where a table of a thread is. All zero means no table.
#[repr(C)]
pub struct Table {
    first: Cell<*mut Row>,
    /// The number of slots, less one.
    mask: Cell<u64>,
    used: Cell<u32>,
    /// Log 2 of the number of slots in the previous table. That table is kept until the next
    /// exchange, because an operation may have found its row there just before a signal handler
    /// exchanged the table. The `calls` of its rows were set to 0 at the exchange. So what was
    /// counted there later is known, and is added to the new table.
    before_log2: Cell<u32>,
    before: Cell<*mut Row>,
}

impl Table {
    /// Whether the thread has this table.
    #[inline(always)]
    pub fn is_there(&self) -> bool {
        !self.first.get().is_null()
    }

    /// Forgets the table, and gives the previous one back.
    pub fn leave(&self, kind: &Kind, room: Option<Room<'_>>) {
        self.give_back_before(kind, room);
        self.first.set(null_mut());
        self.mask.set(0);
        self.used.set(0);
    }

    fn give_back_before(&self, kind: &Kind, room: Option<Room<'_>>) {
        let before = self.before.replace(null_mut());
        let Some(room) = room.filter(|_| !before.is_null()) else { return };
        let log2 = self.before_log2.get();
        for row in (0..1 << log2).map(|slot| before.wrapping_add(slot)) {
            // SAFETY: rows of this thread's own tables.
            unsafe {
                let moved = if (*row).calls == 0 { None } else { self.moved_row(kind, &*row) };
                if let Some(moved) = moved {
                    add(&raw mut (*moved).calls, (*row).calls);
                }
            }
        }
        // SAFETY: the table is this thread's own, and nothing is counted in its rows any more.
        unsafe { room.give_back(before, log2) };
    }

    /// The row in this table that took the place of a row of the previous table.
    unsafe fn moved_row(&self, kind: &Kind, row: &Row) -> Option<*mut Row> {
        // The row may have got this bit meanwhile.
        let same_key = |new: &Row| (new.key ^ row.key) & !APART == 0;
        let is = |new: &Row| (new.lock, new.ret) == (row.lock, row.ret) && same_key(new);
        // SAFETY: the table is the calling thread's own.
        unsafe { self.find((kind.hash)(row), is) }
    }

    /// The slots in which a row may be, in the order in which they are tried.
    #[inline]
    fn slots(&self, hash: u64) -> impl Iterator<Item = *mut Row> + Clone + use<> {
        let (first, mask) = (self.first.get(), self.mask.get());
        let slots = if first.is_null() { 0 } else { mask + 1 };
        (0..slots).map(move |step| first.wrapping_add((hash.wrapping_add(step) & mask) as usize))
    }

    /// The row with this hash for which `fits` is true; `None` if there is none.
    ///
    /// # Safety
    /// The table is the calling thread's own. This holds for all functions below.
    #[inline]
    pub unsafe fn find(&self, hash: u64, fits: impl Fn(&Row) -> bool) -> Option<*mut Row> {
        // SAFETY: these are rows of the thread's own table. (Rows are never removed, so if an empty
        // slot is found first, the row does not exist.)
        let ends = |&row: &*mut Row| unsafe { (*row).key == 0 || fits(&*row) };
        let row = self.slots(hash).find(ends)?;
        // SAFETY: as above.
        unsafe { ((*row).key != 0).then_some(row) }
    }

    /// Whether there is room for one more row without an exchange of the table.
    #[inline]
    pub fn has_room(&self, kind: &Kind) -> bool {
        self.is_there() && u64::from(self.used.get()) < (kind.fullest)(self.mask.get() + 1)
    }

    /// Puts a row into the table; `None` if there is no room for it. The table may be exchanged for
    /// a larger one, which moves rows. In that case `relocate` is called with a function that
    /// returns a row's new address for its old one. It must update all pointers to rows that the
    /// caller has.
    ///
    /// # Safety
    /// The table and the record are the calling thread's own, and no signal handler uses them
    /// meanwhile. The row has a key, and is not in the table yet.
    pub unsafe fn put(
        &self,
        kind: &Kind,
        room: Room<'_>,
        record: *mut ThreadRecord,
        row: Row,
        relocate: impl FnOnce(&dyn Fn(*mut Row) -> *mut Row),
    ) -> Option<*mut Row> {
        let slots = self.mask.get() + 1;
        // SAFETY: by this function's own condition.
        unsafe {
            if !self.is_there() {
                self.exchange(kind, room, record, FIRST_LOG2, relocate)?;
            } else if !self.has_room(kind)
                && (slots >> LAST_LOG2 != 0
                    || self
                        .exchange(kind, room, record, slots.trailing_zeros() + 1, relocate)
                        .is_none())
                && u64::from(self.used.get()) >= slots / 4 * 3
            {
                // If there is no space for a larger table, this one may be filled to three
                // quarters, since up to there a search is quick.
                return None;
            }
            let slot = self.slots((kind.hash)(&row)).find(|&slot| (*slot).key == 0)?;
            slot.write(Row { key: 0, ..row });
            // Release: a reader of the file that finds a key finds the complete row.
            AtomicU64::from_ptr(&raw mut (*slot).key).store(row.key, Ordering::Release);
            self.used.set(self.used.get() + 1);
            (*record).rows += 1;
            Some(slot)
        }
    }

    /// Continues with the table that an earlier thread of the record has left, to which `word`
    /// leads. Without `room`, the thread has no table.
    ///
    /// # Safety
    /// The table is the calling thread's own from here on.
    pub unsafe fn take_over(&self, kind: &Kind, room: Option<Room<'_>>, word: u64) {
        let Some(room) = room.filter(|_| word != 0) else {
            return self.leave(kind, room);
        };
        self.first.set(room.file.unit(word & 0xffff_ffff_ffff).cast());
        self.mask.set((1 << (word >> 48)) - 1);
        // SAFETY: by this function's own condition.
        self.used.set(self.slots(0).filter(|&row| unsafe { (*row).key != 0 }).count() as u32);
    }

    /// Gives the thread its first table; `None` if there is no space.
    ///
    /// # Safety
    /// The table and the record are the calling thread's own, and there is no table yet.
    pub unsafe fn begin(
        &self,
        kind: &Kind,
        room: Room<'_>,
        record: *mut ThreadRecord,
    ) -> Option<()> {
        // SAFETY: by this function's own condition.
        unsafe { self.exchange(kind, room, record, FIRST_LOG2, |_| {}) }
    }

    /// Exchanges the table for one of 2 to the power of `log2` slots, with the same rows; `None` if
    /// there is no space.
    ///
    /// Signals are blocked meanwhile. Otherwise a handler could count in an old row that is already
    /// copied, and that would be lost.
    unsafe fn exchange(
        &self,
        kind: &Kind,
        room: Room<'_>,
        record: *mut ThreadRecord,
        log2: u32,
        relocate: impl FnOnce(&dyn Fn(*mut Row) -> *mut Row),
    ) -> Option<()> {
        if room.file.is_full() {
            return None;
        }
        let unit = room.new_table(log2)?;
        let old = self.slots(0);
        let is_used = |&row: &*mut Row| {
            // SAFETY: rows of this thread's own tables.
            unsafe { (*row).key != 0 }
        };
        with_signals_blocked(|| {
            let (old_first, old_slots) = (self.first.get(), old.size_hint().0);
            self.first.set(room.file.unit(unit).cast());
            self.mask.set((1 << log2) - 1);
            // SAFETY: both tables are this thread's own. The new one is larger and zero, and has
            // disk space.
            unsafe {
                // This first access writes, because in a forked child a read before it would cause
                // an additional page fault.
                self.first.get().cast::<u64>().write_volatile(0);
                for row in old.clone().filter(is_used) {
                    let empty = |&slot: &*mut Row| (*slot).key == 0;
                    if let Some(slot) = self.slots((kind.hash)(&*row)).find(empty) {
                        slot.write(*row);
                    }
                }
                (*record).exchanges = (*record).exchanges.wrapping_add(1);
                // Release: readers of the file find through this word the rows that were copied
                // above.
                let word = record.byte_add(kind.word).cast::<u64>();
                AtomicU64::from_ptr(word).store(u64::from(log2) << 48 | unit, Ordering::Release);
                for row in old.filter(is_used) {
                    // Release: a reader that still reads the old row and finds 0 there can find the
                    // new table.
                    AtomicU64::from_ptr(&raw mut (*row).calls).store(0, Ordering::Release);
                }
                if !old_first.is_null() {
                    let moved: Range<*mut Row> = old_first..old_first.wrapping_add(old_slots);
                    relocate(&|row| match moved.contains(&row) {
                        true => self.moved_row(kind, &*row).unwrap_or(row),
                        false => row,
                    });
                    self.give_back_before(kind, Some(room));
                    self.before.set(old_first);
                    self.before_log2.set(old_slots.trailing_zeros());
                }
            }
        });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    /// The recorder sets [`APART`] in rows where they are.
    #[test]
    fn only_another_callers_number_changes_a_hash() {
        let (ret, key) = (0x40_1234, Row::key(Op::MutexLock, 0x1_2345));
        let hashes = |key| (hash_of_place(ret, key), hash_of_lock(0x1000, ret, key));
        assert_eq!(hashes(key), hashes(key | APART));
        let other = hashes(key | APART | 1 << PATH_SHIFT);
        assert!(hashes(key).0 != other.0 && hashes(key).1 != other.1);
    }
}
