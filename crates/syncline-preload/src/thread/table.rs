//! Where in a thread's table a row belongs, and how the table grows.
//!
//! The first choice follows from the address of the lock, in the order of addresses, plus a
//! number scattered from the call site. Neighbouring locks then have neighbouring rows, so
//! that a walk over an array of locks is a walk over the table; a fully scattered order costs
//! twice as much there, in cache misses. A row whose first choice and the places next to it
//! are taken is *displaced*: it goes to one of a sequence of scattered places, where looking it
//! up takes longer. So a table fills up to its limit whatever the addresses are.
//!
//! Many displaced rows mean that the order is a bad one for these addresses:
//!
//! - all locks share low address bits (they lie 4,096 bytes apart, say), so that most places
//!   are nobody's first choice: ignore more low bits;
//! - two call sites walk the same large array, and the dense runs of their rows overlap: scatter
//!   the call sites by another factor.
//!
//! A table that is exchanged, because it is full or has many displaced rows, takes the order that
//! displaces the fewest.

use core::sync::atomic::{AtomicU64, Ordering};

use syncline_recording::layout::Row;

use crate::recorder;
use crate::thread::ThreadState;
use crate::thread::rows::find;

/// Places from the first choice on that are tried.
const NEAR: u64 = 8;
/// Scattered places that are tried then. A table is at most five eighths full, so all of them
/// are taken hardly ever.
const FAR: u32 = 48;
/// Rows of a new table, log 2: one page.
const FIRST_LOG2: u32 = 6;
/// Largest table, log 2: a gigabyte.
const LAST_LOG2: u32 = 24;
/// Low bits of addresses that a new table ignores: right for arrays of mutexes.
const FIRST_SHIFT: u32 = 5;
/// Displaced rows that are no reason to exchange a table.
pub const FEW: u32 = 64;
/// Factors that scatter call sites: odd, with no pattern.
const FACTORS: [u64; 4] =
    [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x27d4_eb2f_1656_67c5];

/// In which order the rows of a table stand.
#[derive(Clone, Copy, PartialEq)]
pub struct Order {
    factor: u64,
    shift: u32,
}

impl Order {
    /// That of a new table.
    const FIRST: Order = Order { factor: FACTORS[0], shift: FIRST_SHIFT };

    /// The first choice, before the mask.
    #[inline(always)]
    pub fn place(self, lock: usize, ret: usize) -> u64 {
        let site = (ret as u64).wrapping_mul(self.factor) >> 40;
        (lock as u64 >> (self.shift & 63)).wrapping_add(site)
    }

    /// All places where a row may be, in the order in which they are tried, before the mask.
    pub fn places(self, lock: usize, ret: usize) -> impl Iterator<Item = u64> {
        let home = self.place(lock, ret);
        let mixed = (lock as u64 ^ (ret as u64).rotate_left(32)).wrapping_mul(FACTORS[1]);
        // Not at one distance from each other: a small one would stay within a dense run.
        let scattered = move |i: u32| mixed.rotate_left(i).wrapping_mul(FACTORS[2]) >> 32;
        (0..NEAR).map(move |i| home.wrapping_add(i)).chain((1..=FAR).map(scattered))
    }

    /// As a number that a thread record keeps.
    pub fn code(self) -> u32 {
        let number = FACTORS.iter().position(|&f| f == self.factor).unwrap_or(0);
        (number as u32) << 8 | self.shift
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

/// Exchanges the table if one more row would make it too full, or found no place in it, or too
/// many rows are displaced.
///
/// # Safety
/// As of [`begin`].
pub unsafe fn make_room(state: &ThreadState, misfit: bool) {
    let log2 = (state.mask.get() + 1).trailing_zeros();
    let full = misfit || (u64::from(state.rows.get()) + 1) * 8 > (state.mask.get() + 1) * 5;
    let disordered = state.displaced.get() > state.displaced_limit.get();
    let no_room = || recorder::existing().is_none_or(|recorder| recorder.file().is_full());
    if !(full || disordered) || no_room() {
        return;
    }
    let log2 = (log2 + u32::from(full)).min(LAST_LOG2);
    // SAFETY: by this function's own condition.
    unsafe {
        let best = best_shift(state);
        let now = state.order.get().shift;
        let shifts = [now, best].into_iter().take(if best == now { 1 } else { 2 });
        let orders = shifts.flat_map(|shift| FACTORS.map(|factor| Order { factor, shift }));
        exchange(state, log2, orders);
    }
}

/// The shift under which the fewest rows of this table have a first choice in common.
unsafe fn best_shift(state: &ThreadState) -> u32 {
    const SHIFTS: core::ops::RangeInclusive<u32> = 3..=16;
    const SAMPLE: usize = 256;
    const PLACES: usize = 4 * SAMPLE;
    let mut locks = [0u64; SAMPLE];
    let mut n = 0;
    let every = (state.rows.get() as usize).div_ceil(SAMPLE).max(1);
    // SAFETY: this thread's own table.
    for (i, row) in unsafe { rows(state) }.enumerate() {
        if i % every == 0 && n < SAMPLE {
            // SAFETY: as above.
            locks[n] = unsafe { (*row).lock };
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

/// The rows in use.
unsafe fn rows(state: &ThreadState) -> impl Iterator<Item = *mut Row> {
    let table = state.table.get();
    let places = if table.is_null() { 0 } else { state.mask.get() + 1 };
    (0..places)
        .map(move |i| table.wrapping_add(i as usize))
        // SAFETY: the caller's own table.
        .filter(|&row| unsafe { (*row).key != 0 })
}

/// Moves all rows to a new table, in the order that displaces the fewest of them or the first
/// that displaces few, and makes it the thread's. False if there is no room.
unsafe fn exchange(state: &ThreadState, log2: u32, orders: impl Iterator<Item = Order>) -> bool {
    let Some(recorder) = recorder::existing() else { return false };
    let Some(unit) = recorder.file().new_table(&recorder.shelf, log2) else { return false };
    let table = recorder.file().unit(unit).cast::<Row>();
    let mask = (1 << log2) - 1;
    // SAFETY: both tables are this thread's own; the new one is zeroed and real.
    unsafe {
        let mut best: Option<(u32, Order)> = None;
        let mut copied = None;
        for order in orders {
            let displaced = copy(state, table, mask, order);
            copied = Some(order);
            if best.is_none_or(|(fewest, _)| displaced < fewest) {
                best = Some((displaced, order));
            }
            if displaced <= (state.rows.get() / 16).max(FEW / 2) {
                break;
            }
        }
        let Some((displaced, order)) = best.filter(|&(displaced, _)| displaced != MISFIT) else {
            recorder.file().give_back(&recorder.shelf, table, log2);
            return false;
        };
        if copied != Some(order) {
            copy(state, table, mask, order);
        }
        let old = state.table.get();
        let old_log2 = (state.mask.get() + 1).trailing_zeros();
        state.table.set(table);
        state.mask.set(mask);
        state.order.set(order);
        state.displaced.set(displaced);
        state.displaced_limit.set((2 * displaced).max(FEW));
        let word = u64::from(log2) << 48 | unit;
        let record = state.record.get();
        (*record).exchanges = (*record).exchanges.wrapping_add(1);
        // Readers of the file follow this word to the rows copied above: Release.
        AtomicU64::from_ptr(&raw mut (*record).table).store(word, Ordering::Release);
        if !old.is_null() {
            state.held.relocate(|row| {
                let (lock, ret, key) = ((*row).lock as usize, (*row).ret as usize, (*row).key);
                find(state, lock, ret, key).unwrap_or(row)
            });
            recorder.file().give_back(&recorder.shelf, old, old_log2);
        }
    }
    true
}

/// What [`copy`] returns if a row found no place.
const MISFIT: u32 = u32::MAX;

/// Copies the thread's rows into a table, after clearing it. Returns how many are displaced.
unsafe fn copy(state: &ThreadState, table: *mut Row, mask: u64, order: Order) -> u32 {
    let mut displaced = 0;
    // SAFETY: the mask keeps the indices within the table; both are this thread's own.
    unsafe {
        if !state.table.get().is_null() {
            table.write_bytes(0, mask as usize + 1);
        }
        for row in rows(state) {
            let places = order.places((*row).lock as usize, (*row).ret as usize);
            let mut places = places.map(|place| table.add((place & mask) as usize)).enumerate();
            let Some((tries, empty)) = places.find(|&(_, new)| (*new).key == 0) else {
                return MISFIT;
            };
            displaced += u32::from(is_displaced(tries));
            empty.write(*row);
        }
    }
    displaced
}

/// Whether a row that was put at its place number `tries` is displaced.
pub fn is_displaced(tries: usize) -> bool {
    tries as u64 >= NEAR
}
