//! The SCC's shared memory as the hardware provides it: words with loads and stores, and
//! test-and-set registers outside of the memory.
//!
//! Deliberately, no algorithm of the library can be instantiated with these types: a
//! [`Memory`](syncline::memory::Memory) has compare-and-swap, and the SCC has none. Software can
//! build one, as [`Simulated`](crate::Simulated) does: its atomic operations acquire the register
//! that guards the word's line, load the word, store to it, and free the register. MPI's windows do
//! the same on the SCC (Christgau and Schnor, section 5.5). Locks that need only test-and-set can
//! be written with these two types, as [`Register::acquire`] is.
//!
//! The library's `Word` could instead be split into one trait for loads and stores and one for
//! atomic operations, but every lock of the library needs both.
//!
//! ```compile_fail,E0599
//! use syncline_sim::uncached::Plain;
//! Plain::default().compare_exchange(0, 1);
//! ```
//!
//! ```compile_fail,E0277
//! use syncline::{lock::Mcs, wait::Spin};
//! use syncline_sim::uncached::Plain;
//! let lock = Mcs::<Spin, Plain>::default();
//! ```

use std::cell::Cell;
use std::ptr::from_ref;

use crate::engine::{self, act};
use crate::machine::Access;

/// A shared word that can be loaded and stored, initially 0.
#[derive(Debug, Default)]
pub struct Plain {
    value: Cell<u32>,
}

// SAFETY: a simulation runs in one thread of the real machine, and its simulated threads are
// coroutines, so shared words stay in that thread.
unsafe impl Sync for Plain {}

impl Plain {
    /// Reads the word.
    pub fn load(&self) -> u32 {
        act(|engine| engine.access(Access::Load, from_ref(self).addr()));
        self.value.get()
    }

    /// Writes the word.
    pub fn store(&self, value: u32) {
        act(|engine| engine.access(Access::Store, from_ref(self).addr()));
        self.value.set(value);
    }
}

/// The test-and-set register of a core, identified by the number of the core's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(usize);

impl Register {
    /// The register of a core, given the number of its cache.
    pub fn of(core: usize) -> Register {
        Register(core)
    }

    /// Sets the register. Returns whether it was free before.
    ///
    /// # Panics
    /// In a simulation of a machine with caches, or without this core.
    pub fn test_and_set(self) -> bool {
        engine::test_and_set(self.0)
    }

    /// Frees the register, no matter which thread has set it.
    ///
    /// # Panics
    /// Same panics as [`test_and_set`](Self::test_and_set).
    pub fn reset(self) {
        engine::reset(self.0);
    }

    /// Sets the register again and again until it was free before: the simplest lock of such a
    /// machine.
    ///
    /// # Panics
    /// Same panics as [`test_and_set`](Self::test_and_set).
    pub fn acquire(self) {
        while !self.test_and_set() {}
    }
}
