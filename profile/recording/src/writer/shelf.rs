//! Keeps tables that were given back until their space is handed out again.
//!
//! The arena only grows, and a thread that gets a larger table gives the old one back. The shelf
//! keeps a few such tables of each size. If the shelf is full, a table's space in the arena is
//! lost, but its disk space is returned to the file system.

use core::sync::atomic::{AtomicU64, Ordering};

/// Log 2 of the number of rows in a new table, which has one page.
pub(super) const FIRST_LOG2: u32 = 6;
/// Log 2 of the number of rows in the largest table, which has a gigabyte.
pub(super) const LAST_LOG2: u32 = 24;
/// The number of possible sizes of a table.
const SIZES: usize = (LAST_LOG2 - FIRST_LOG2 + 1) as usize;
/// At most this many tables of one size are kept.
const MOST: usize = 4;

/// The tables that were given back, by size. All zero is the empty shelf.
pub struct Shelf {
    /// The first unit of each table; 0 in an empty slot. The first index is log 2 of the table's
    /// number of rows, modulo the number of sizes.
    units: [[AtomicU64; MOST]; SIZES],
}

impl Shelf {
    /// Keeps the table at this unit, unless there are already enough of its size.
    pub(super) fn put(&self, log2: u32, unit: u64) {
        for kept in &self.units[log2 as usize % SIZES] {
            // Release pairs with the Acquire in `take`: the table was cleared before.
            if kept.compare_exchange(0, unit, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Takes a table of this size from the shelf; `None` if there is none.
    pub(super) fn take(&self, log2: u32) -> Option<u64> {
        let kept = &self.units[log2 as usize % SIZES];
        kept.iter().map(|unit| unit.swap(0, Ordering::Acquire)).find(|&unit| unit != 0)
    }
}
