//! Room for tables that was given back, to be handed out again.
//!
//! The arena only grows, and a thread that outgrows its table leaves it behind. The shelf keeps
//! a few such tables of each size. What finds no place on it is lost to the arena, though not
//! to the file system, which has its blocks back.

use core::sync::atomic::{AtomicU64, Ordering};

const SIZES: usize = 32;
const PLACES: usize = 16;

/// Tables by size. All zero is the empty shelf.
pub struct Shelf {
    /// First units of tables of two to the power of the index rows; 0 is a free place.
    units: [[AtomicU64; PLACES]; SIZES],
}

impl Shelf {
    /// Keeps a table, if there is a place.
    pub fn put(&self, log2: u32, unit: u64) {
        for place in &self.units[log2 as usize % SIZES] {
            // Release pairs with the Acquire in `take`: the table was cleared before.
            if place.compare_exchange(0, unit, Ordering::Release, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    /// A table that was kept.
    pub fn take(&self, log2: u32) -> Option<u64> {
        let places = &self.units[log2 as usize % SIZES];
        places.iter().map(|place| place.swap(0, Ordering::Acquire)).find(|&unit| unit != 0)
    }
}
