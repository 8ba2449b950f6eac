//! Records of the code in a process's memory.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::file::File;
use crate::layout::ModuleRecord;

impl File {
    /// Adds a module of this process; returns its index, or `None` if there is no room.
    pub fn add_module(&self, module: &ModuleRecord) -> Option<u32> {
        let (record, index) = self.new_module()?;
        // SAFETY: the record was claimed for this module, and its first word is only stored to
        // atomically once the record may be visible.
        unsafe {
            record.write(ModuleRecord { start: 0, process: self.page(), ..*module });
            let start = AtomicU64::from_ptr(&raw mut (*record).start);
            // Release pairs with the reading in `Source::modules`, which takes the word before the
            // others: if it finds the word, the others are filled in.
            start.store(module.start, Ordering::Release);
        }
        Some(index)
    }

    /// Notes that code was loaded at an address where other code was before.
    pub fn modules_changed(&self) {
        // SAFETY: the header is mapped, and the word is only stored to atomically.
        unsafe {
            let flag = AtomicU32::from_ptr(&raw mut (*self.header()).modules_changed);
            flag.store(1, Ordering::Relaxed);
        }
    }
}
