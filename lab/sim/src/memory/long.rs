//! Words of 64 bits. An access costs as much as one to a [`SimulatedWord`](super::SimulatedWord).

use std::cell::Cell;
use std::sync::atomic::Ordering;

use syncline::memory::{Long, LongMemory};

use super::Simulated;
use super::change::{change, forget, load, store};
use crate::machine::Access;

/// A shared word of 64 bits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SimulatedLong {
    value: Cell<u64>,
}

// SAFETY: same argument as for a word of 32 bits.
unsafe impl Send for SimulatedLong {}
// SAFETY: as above.
unsafe impl Sync for SimulatedLong {}

// SAFETY: accesses take effect one at a time.
unsafe impl LongMemory for Simulated {
    type Long = SimulatedLong;
}

impl Drop for SimulatedLong {
    fn drop(&mut self) {
        forget(&self.value);
    }
}

impl SimulatedLong {
    fn change(&self, access: Access, to: impl Fn(u64) -> u64) -> u64 {
        change(&self.value, access, to)
    }
}

impl Long for SimulatedLong {
    fn load(&self, _: Ordering) -> u64 {
        load(&self.value)
    }
    fn store(&self, value: u64, order: Ordering) {
        store(&self.value, value, order);
    }
    fn fetch_add(&self, value: u64, _: Ordering) -> u64 {
        self.change(Access::FetchAndIncrement, |old| old.wrapping_add(value))
    }
    fn exchange(&self, old: u64, new: u64, _: Ordering) -> Result<u64, u64> {
        let was = self.change(Access::CompareAndSwap, |was| if was == old { new } else { was });
        if was == old { Ok(was) } else { Err(was) }
    }
}
