//! Space for the records of a row: of its waits, and of the locks that were already held.
//!
//! Few rows have such records. So a thread takes a page of the arena, and allocates records from it
//! one after the other.

use core::cell::Cell;

use super::file::File;
use crate::layout::UNIT;

/// The position of a thread's next record, in bytes of the arena, and the end of its page. All zero
/// is no page yet.
#[repr(C)]
pub struct Tail {
    next: Cell<u64>,
    end: Cell<u64>,
}

const PAGE: u64 = 4096;

impl Tail {
    /// Forgets the page.
    pub fn leave(&self) {
        self.next.set(0);
        self.end.set(0);
    }

    /// Space for a record of this type, zeroed; returns its unit, or `None` if there is no room.
    pub fn next<T>(&self, file: &File) -> Option<u32> {
        let size = size_of::<T>() as u64;
        if self.next.get() + size > self.end.get() {
            let unit = file.new_pages(PAGE)?;
            self.next.set(unit * UNIT);
            self.end.set(unit * UNIT + PAGE);
        }
        let unit = (self.next.get() / UNIT) as u32;
        self.next.set(self.next.get() + size);
        Some(unit)
    }
}
