//! Records of the code in a process's memory.

use core::sync::atomic::{AtomicU32, Ordering};

use super::file::File;
use crate::layout::ModuleRecord;

impl File {
    /// Adds a module of this process; returns its index, or `None` if there is no room.
    pub fn add_module(&self, module: &ModuleRecord) -> Option<u32> {
        let (record, index) = self.new_module()?;
        // SAFETY: the record was claimed for this module.
        unsafe { record.write(ModuleRecord { process: self.page(), ..*module }) };
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
