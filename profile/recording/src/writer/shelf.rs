//! Keeps space of tables that were given back, until it is handed out again.
//!
//! The arena only grows, and a thread that outgrows its table gives it back. The shelf keeps a few
//! such tables of each size. If the shelf is full, the table's space in the arena is lost, but not
//! its space on disk, which the file system gets back.

use core::sync::atomic::{AtomicU64, Ordering};

/// Log 2 of the rows of a new table: one page.
pub(super) const FIRST_LOG2: u32 = 6;
/// Log 2 of the rows of the largest table: a gigabyte.
pub(super) const LAST_LOG2: u32 = 24;
/// The number of sizes that tables have.
const SIZES: usize = (LAST_LOG2 - FIRST_LOG2 + 1) as usize;
/// The number of tables of one size that are kept.
const MOST: usize = 4;

/// Tables that were given back, by size. All zero is the empty shelf.
pub struct Shelf {
    /// First units of the tables; 0 is none. The first index is log 2 of a table's rows, modulo the
    /// number of sizes.
    units: [[AtomicU64; MOST]; SIZES],
}

impl Shelf {
    /// Keeps a table, unless there are already enough of its size.
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
