//! Where in a thread's table a row belongs, and how the table grows.
//!
//! The place follows from the address of the lock, in the order of addresses, plus a number
//! scattered from the call site. Neighbouring locks then have neighbouring rows, so that a
//! walk over an array of locks is a walk over the table; a fully scattered order costs
//! twice as much there, in cache misses. What can go wrong with order is mended when a table
//! gets crowded while it is far from full, by exchanging it for one in another [`Order`]:
//!
//! - the addresses of all locks share low bits (they lie 4,096 bytes apart, say), so that most
//!   places are never the right one: ignore more low bits;
//! - two call sites walk the same large array, and their two dense runs of rows overlap: scatter
//!   the call sites by another factor.

use core::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, madvise};
use syncline_recording::layout::Row;

use crate::recorder;
use crate::thread::ThreadState;
use crate::thread::rows::find;

/// How far from its place a row may be.
pub const REACH: u64 = 24;
/// Rows of a new table, log 2: one page.
const FIRST_LOG2: u32 = 6;
/// Largest table, log 2: a gigabyte.
const LAST_LOG2: u32 = 24;
/// Low bits of addresses that a new table ignores: right for arrays of mutexes.
const FIRST_SHIFT: u32 = 5;
/// Factors that scatter call sites: odd, with no pattern.
const FACTORS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x27d4_eb2f_1656_67c5];

/// In which order the rows of a table stand.
#[derive(Clone, Copy)]
pub struct Order {
    factor: u64,
    shift: u32,
}

impl Order {
    /// That of a new table.
    const FIRST: Order = Order { factor: FACTORS[0], shift: FIRST_SHIFT };

    /// Where a row belongs, before the mask.
    #[inline(always)]
    pub fn place(self, lock: usize, ret: usize) -> u64 {
        let site = (ret as u64).wrapping_mul(self.factor) >> 40;
        (lock as u64 >> (self.shift & 63)).wrapping_add(site)
    }

    /// The number of its factor.
    fn number(self) -> usize {
        FACTORS.iter().position(|&f| f == self.factor).unwrap_or(0)
    }

    /// As a number that a thread record keeps.
    pub fn code(self) -> u32 {
        (self.number() as u32) << 8 | self.shift
    }

    /// The order with this code.
    pub fn of_code(code: u32) -> Order {
        Order { factor: FACTORS[(code >> 8) as usize % FACTORS.len()], shift: code & 63 }
    }
}

/// Gives the thread its first table. False if there is no room.
///
/// # Safety
/// The state is the calling thread's own, as in all that follows.
pub unsafe fn begin(state: &ThreadState) -> bool {
    // SAFETY: by this function's own condition.
    unsafe { exchange(state, FIRST_LOG2, [Order::FIRST].into_iter()) }
}

/// Replaces the table by one that is less crowded. False if there is no room.
///
/// # Safety
/// As of [`begin`].
pub unsafe fn grow(state: &ThreadState) -> bool {
    if recorder::existing().is_none_or(|recorder| recorder.file().is_full()) {
        return false;
    }
    let capacity = state.mask.get() + 1;
    let log2 = capacity.trailing_zeros();
    // Less than three eighths full: another order may do, at the same size. Each is tried
    // once there, so that this ends.
    let sparse = u64::from(state.rows.get()) * 8 < capacity * 3;
    // SAFETY: by this function's own condition.
    unsafe {
        let shift = if sparse { best_shift(state) } else { state.order.get().shift };
        let orders = FACTORS.into_iter().map(|factor| Order { factor, shift });
        let untried = orders.clone().skip(state.order.get().number() + 1);
        sparse && exchange(state, log2, untried)
            || (log2 + 1..=LAST_LOG2).any(|log2| exchange(state, log2, orders.clone()))
    }
}

/// The shift under which the fewest rows of this table share a place with another.
unsafe fn best_shift(state: &ThreadState) -> u32 {
    const SHIFTS: core::ops::RangeInclusive<u32> = 3..=16;
    const SAMPLE: usize = 256;
    const PLACES: usize = 4 * SAMPLE;
    let mut locks = [0u64; SAMPLE];
    let mut n = 0;
    for i in 0..=state.mask.get() {
        // SAFETY: within this thread's own table.
        let (key, lock) = unsafe {
            let row = state.table.get().add(i as usize);
            ((*row).key, (*row).lock)
        };
        if key != 0 && n < SAMPLE {
            locks[n] = lock;
            n += 1;
        }
    }
    let distinct = |shift: u32| {
        let mut taken = [0u64; PLACES / 64];
        for lock in &locks[..n] {
            let place = (lock >> shift) as usize % PLACES;
            taken[place / 64] |= 1 << (place % 64);
        }
        taken.iter().map(|word| word.count_ones()).sum::<u32>()
    };
    SHIFTS.max_by_key(|&shift| (distinct(shift), u32::MAX - shift)).unwrap_or(FIRST_SHIFT)
}

/// Moves all rows to a new table, in the first of these orders in which they fit, and makes
/// it the thread's. False if they fit in none, or there is no room.
unsafe fn exchange(
    state: &ThreadState,
    log2: u32,
    mut orders: impl Iterator<Item = Order>,
) -> bool {
    let Some(recorder) = recorder::existing() else { return false };
    let size = size_of::<Row>() << log2;
    let Some(unit) = recorder.file().new_pages(size as u64) else { return false };
    let table = recorder.file().unit(unit).cast::<Row>();
    let mask = (1 << log2) - 1;
    // SAFETY: both tables are this thread's own; the new one is zeroed and real.
    unsafe {
        let Some(order) = orders.find(|&order| copy(state, table, mask, order)) else {
            give_back(table, size);
            return false;
        };
        let old = state.table.get();
        let old_size = size_of::<Row>() * (state.mask.get() as usize + 1);
        state.table.set(table);
        state.mask.set(mask);
        state.order.set(order);
        let word = u64::from(log2) << 48 | unit;
        // Readers of the file follow this word to the rows copied above: Release.
        AtomicU64::from_ptr(&raw mut (*state.record.get()).table).store(word, Ordering::Release);
        if !old.is_null() {
            state.held.relocate(|row| {
                let (lock, ret, key) = ((*row).lock as usize, (*row).ret as usize, (*row).key);
                find(state, lock, ret, key).unwrap_or(row)
            });
            give_back(old, old_size);
        }
    }
    true
}

/// Copies the thread's rows into a table. If they don't fit in this order, leaves it empty.
unsafe fn copy(state: &ThreadState, table: *mut Row, mask: u64, order: Order) -> bool {
    if state.table.get().is_null() {
        return true;
    }
    // SAFETY: the masks keep the indices within the tables, which are this thread's own.
    unsafe {
        for i in 0..=state.mask.get() {
            let row = state.table.get().add(i as usize);
            if (*row).key == 0 {
                continue;
            }
            let home = order.place((*row).lock as usize, (*row).ret as usize);
            let empty = (0..REACH)
                .map(|step| table.add(((home + step) & mask) as usize))
                .find(|&new| (*new).key == 0);
            let Some(empty) = empty else {
                table.write_bytes(0, mask as usize + 1);
                return false;
            };
            empty.write(*row);
        }
    }
    true
}

/// Returns a table's room to the file system, where that is possible.
unsafe fn give_back(table: *mut Row, size: usize) {
    // SAFETY: whole pages of the mapped file, of which only this thread knew. Whoever still
    // looks at a row in them reads zero.
    let _ = unsafe { madvise(table.cast(), size, Advice::LinuxRemove) };
}
