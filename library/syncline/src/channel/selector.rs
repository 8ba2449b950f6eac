//! The word on which a thread that waits for several receivers sleeps: `select.rs` says how.

use core::sync::atomic::Ordering::{Acquire, Release};

use crate::memory::{Memory, Word};

/// The word on which a thread that waits for several receivers sleeps.
#[derive(Default)]
pub struct Selector<M: Memory> {
    /// How many threads have rung.
    pub rung: M::Word,
}

impl<M: Memory> Selector<M> {
    /// Wakes the sleeper.
    ///
    /// # Safety
    ///
    /// The selector was found on a bell, and taken from it.
    pub unsafe fn ring(selector: M::Ref<Self>) {
        // SAFETY: its owner waits until all threads that have taken it from a bell have counted
        // themselves.
        let rung = unsafe { &M::follow(selector).rung };
        let address = rung.address();
        // The last use of the selector. Release: pairs with the Acquire in `wait_for`.
        rung.fetch_add(1, Release);
        M::unpark(address, Some(0), 1);
    }

    /// Waits until as many threads have rung as have taken the selector from a bell.
    pub fn wait_for(&self, taken: u32) {
        let mut looks = 0;
        // Acquire: pairs with the Release in `ring`: those threads are done with the selector.
        while self.rung.load(Acquire) != taken {
            looks += 1;
            M::pause_at(&self.rung, looks);
        }
    }
}
