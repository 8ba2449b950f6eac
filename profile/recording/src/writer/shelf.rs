//! Room for tables that was given back, to be handed out again.
//!
//! The arena only grows, and a thread that outgrows its table leaves it behind. The shelf keeps
//! a few such tables of each size. A table that it has no room for is lost to the arena, though not
//! to the file system, which gets its blocks back.

use core::sync::atomic::{AtomicU64, Ordering};

/// The number of rows of a new table, log 2: one page.
pub(super) const FIRST_LOG2: u32 = 6;
/// Largest table, log 2: a gigabyte.
pub(super) const LAST_LOG2: u32 = 24;
/// The number of sizes that tables have.
const SIZES: usize = (LAST_LOG2 - FIRST_LOG2 + 1) as usize;
/// The number of tables of one size that are kept.
const MOST: usize = 4;

/// Tables by size. All zero is the empty shelf.
pub struct Shelf {
    /// First units of tables, by the logarithm of their rows modulo the sizes; 0 is none.
    units: [[AtomicU64; MOST]; SIZES],
}

impl Shelf {
    /// Keeps a table, if there is room on the shelf.
    pub(super) fn put(&self, log2: u32, unit: u64) {
        for kept in &self.units[log2 as usize % SIZES] {
            // Release pairs with the Acquire in `take`: the table was cleared before.
            if kept.compare_exchange(0, unit, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// A table that was kept.
    pub(super) fn take(&self, log2: u32) -> Option<u64> {
        let kept = &self.units[log2 as usize % SIZES];
        kept.iter().map(|unit| unit.swap(0, Ordering::Acquire)).find(|&unit| unit != 0)
    }
}
