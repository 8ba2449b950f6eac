//! Provides space for tables and logs of threads: from the shelf, or from the unused part of the
//! arena.

use rustix::mm::{Advice, madvise};
use syncline_interpose::populate;

use super::file::File;
use super::shelf::Shelf;
use crate::layout::{Row, UNIT};

/// A process's file, and the shelf with the tables that its threads have given back.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    /// The file.
    pub file: &'a File,
    /// The shelf of this process.
    pub shelf: &'a Shelf,
}

impl Room<'_> {
    /// Claims space for a table of 2 to the power of `log2` rows. The space is zero and has disk
    /// space. Returns its first unit, or `None` if there is no room.
    pub(super) fn new_table(self, log2: u32) -> Option<u64> {
        let bytes = size_of::<Row>() << log2;
        let used_before = self.shelf.take(log2).filter(|&unit| {
            let start = self.file.unit(unit);
            populate(start, start.wrapping_add(bytes))
        });
        used_before.or_else(|| self.file.new_pages(bytes as u64))
    }

    /// Returns a table's disk space to the file system. If that succeeds, puts the table on the
    /// shelf.
    ///
    /// # Safety
    /// No thread writes to the table any more. (A thread that still reads a row in it may find
    /// zeros.)
    pub(super) unsafe fn give_back(self, table: *mut Row, log2: u32) {
        let arena = self.file.unit(0).addr();
        // SAFETY: the table has whole pages of the mapped file, which are no longer in use.
        let removed =
            unsafe { madvise(table.cast(), size_of::<Row>() << log2, Advice::LinuxRemove) };
        if removed.is_ok() {
            self.shelf.put(log2, (table.addr() - arena) as u64 / UNIT);
        }
    }
}
