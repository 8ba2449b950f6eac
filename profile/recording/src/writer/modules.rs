//! Writes the module records of a process.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::file::File;
use crate::layout::ModuleRecord;

impl File {
    /// Adds a module of this process. Returns the index of its record, or `None` if there is no
    /// room.
    pub fn add_module(&self, module: &ModuleRecord) -> Option<u32> {
        let (record, index) = self.new_module()?;
        // SAFETY: the record was claimed for this module. Once the record may be visible to
        // readers, its first word is only stored atomically.
        unsafe {
            record.write(ModuleRecord { start: 0, process: self.page(), ..*module });
            let start = AtomicU64::from_ptr(&raw mut (*record).start);
            // Release pairs with the reading in `Source::modules`, which reads this word before the
            // others. If it finds this word, the others are filled in.
            start.store(module.start, Ordering::Release);
        }
        Some(index)
    }

    /// Notes that code was loaded at an address at which other code was before.
    pub fn modules_changed(&self) {
        // SAFETY: the header is mapped, and the word is only stored atomically.
        unsafe {
            let flag = AtomicU32::from_ptr(&raw mut (*self.header()).modules_changed);
            flag.store(1, Ordering::Relaxed);
        }
    }
}
