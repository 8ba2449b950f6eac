//! Whether the program's code may change while a section runs.
//!
//! Each block compares the program's code with the code that was translated. Code in memory that is
//! not writable can change only by a system call of this or another thread. Such code is compared
//! when its block first runs after tracing started or resumed, and after each system call and each
//! call of a locking function. Code in writable memory is compared each time that its block runs.

use crate::files::{Mapping, mappings};

/// The known executable mappings of the process.
pub struct Code {
    executable: Vec<Mapping>,
    read: u64,
}

impl Code {
    /// Creates a value that knows no mapping yet.
    pub const fn new() -> Code {
        Code { executable: Vec::new(), read: 0 }
    }

    /// Discards what is known, since it may be outdated.
    pub fn forget(&mut self) {
        self.executable.clear();
    }

    /// How often the mappings were read. They are read again for an address that is in none, such
    /// as that of a library that was loaded since.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Whether the code at an address is not writable. Unknown memory counts as writable.
    pub fn is_steady(&mut self, address: u64) -> bool {
        let of = |all: &[Mapping]| {
            let found = all.iter().find(|mapping| mapping.range.contains(&address));
            found.map(|mapping| !mapping.writable)
        };
        of(&self.executable).unwrap_or_else(|| {
            self.read += 1;
            self.executable = mappings().filter(|mapping| mapping.executable).collect();
            of(&self.executable).unwrap_or(false)
        })
    }
}
