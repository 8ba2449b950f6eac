//! Data under a lock of the library, in any memory.

use core::mem::MaybeUninit;

use bytemuck::Zeroable;

use crate::lock::RawLock;
use crate::memory::{Data, Memory, Native};

/// Data that one thread at a time reaches.
pub struct Guarded<T, L: RawLock> {
    lock: L,
    data: <L::Memory as Memory>::Data<T>,
}

impl<T, L: RawLock> Guarded<T, L> {
    /// The data under a free lock.
    pub fn new(value: T) -> Self {
        Self { lock: L::default(), data: Data::new(value) }
    }

    /// Runs a function that does not panic while holding the lock.
    #[inline]
    pub fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let node = L::Node::default();
        // SAFETY: the node stays on this stack until it is released. Holding the lock, nobody
        // else has the data.
        unsafe {
            self.lock.acquire(&node);
            let result = self.data.with(|data| section(&mut *data));
            self.lock.release(&node);
            result
        }
    }

    /// The data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T, L: RawLock<Memory = Native> + Zeroable> Guarded<T, L> {
    /// As [`new`](Self::new), also for constants.
    pub const fn fresh(value: T) -> Self {
        // SAFETY: a lock of zeros is a fresh one.
        let lock = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { lock, data: <<Native as Memory>::Data<T>>::new(value) }
    }
}
