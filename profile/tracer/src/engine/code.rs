//! Whether the program's code may change while a section runs.
//!
//! Each block compares the program's code with what was translated. In memory that is not writable,
//! code changes only by a system call of this or another thread: there it is compared when a block
//! runs for the first time in a stretch of tracing, and again after system calls and calls of
//! functions that lock. In memory that can be written to, it is compared each time.

use crate::files::{Mapping, mappings};

/// What is known of the mappings of code.
pub struct Code {
    executable: Vec<Mapping>,
}

impl Code {
    /// Nothing.
    pub const fn new() -> Code {
        Code { executable: Vec::new() }
    }

    /// Discards what is known, since it may be outdated.
    pub fn forget(&mut self) {
        self.executable.clear();
    }

    /// Whether the code at an address is not writable. Unknown memory counts as writable.
    pub fn is_steady(&mut self, address: u64) -> bool {
        let of = |all: &[Mapping]| {
            let found = all.iter().find(|mapping| mapping.range.contains(&address));
            found.map(|mapping| !mapping.writable)
        };
        of(&self.executable).unwrap_or_else(|| {
            self.executable = mappings().filter(|mapping| mapping.executable).collect();
            of(&self.executable).unwrap_or(false)
        })
    }
}
