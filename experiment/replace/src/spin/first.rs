//! The functions before a lock is chosen: each chooses, and calls the chosen one.

use super::Ops;
use crate::choice::{SPINLOCKS, choose};

impl Ops {
    /// Those that choose.
    pub const FIRST: Ops = Ops {
        init: |word, shared| {
            choose();
            // SAFETY: the program's own call, as below.
            unsafe { (SPINLOCKS.get().init)(word, shared) }
        },
        destroy: |word| {
            choose();
            // SAFETY: as above.
            unsafe { (SPINLOCKS.get().destroy)(word) }
        },
        lock: |word| {
            choose();
            // SAFETY: as above.
            unsafe { (SPINLOCKS.get().lock)(word) }
        },
        try_lock: |word| {
            choose();
            // SAFETY: as above.
            unsafe { (SPINLOCKS.get().try_lock)(word) }
        },
        unlock: |word| {
            choose();
            // SAFETY: as above.
            unsafe { (SPINLOCKS.get().unlock)(word) }
        },
        make: |_, _| false,
    };
}
