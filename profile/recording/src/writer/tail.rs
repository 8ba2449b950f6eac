//! Provides space for wait records and nest records of rows.
//!
//! Few rows have such records. So a thread claims a page of the arena, and makes one record after
//! the other in it.

use core::cell::Cell;

use super::file::File;
use crate::layout::UNIT;

/// The position of a thread's next record and the end of its page, in bytes from the start of the
/// arena. All zero means that there is no page yet.
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

    /// Claims space, which is zero, for a record of this type. Returns its unit, or `None` if there
    /// is no room.
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
