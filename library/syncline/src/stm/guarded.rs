//! Data under a lock of the library, in any memory.

use core::mem::MaybeUninit;

use bytemuck::Zeroable;

use crate::lock::RawLock;
use crate::memory::{Data, Memory, Native, Own};

/// Data that one thread at a time reaches. Only the engines can use it:
///
/// ```compile_fail,E0603
/// use syncline::stm::guarded::Guarded;
/// ```
pub struct Guarded<T, L: RawLock> {
    lock: L,
    data: <L::Memory as Memory>::Data<T>,
}

// SAFETY: the lock lets one thread at a time reach the data, which moves between threads that way.
unsafe impl<T: Send, L: RawLock> Sync for Guarded<T, L> {}
// SAFETY: it owns its data.
unsafe impl<T: Send, L: RawLock> Send for Guarded<T, L> {}

impl<T, L: RawLock> Guarded<T, L> {
    /// Puts data under a new lock, which is free.
    pub fn new(value: T) -> Self {
        Self { lock: L::default(), data: Data::new(value) }
    }

    /// Runs a function while holding the lock, which is released even if the function panics.
    #[inline]
    pub fn with<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let node = Own::<L::Node, L::Memory>::default();
        // SAFETY: the node stays until `Release` has released.
        unsafe { self.lock.acquire(&node) };
        let _release = Release { lock: &self.lock, node: &node };
        // SAFETY: we hold the lock, so no other thread has the data.
        unsafe { self.data.with(|data| section(&mut *data)) }
    }

    /// The data.
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

/// Releases the lock when dropped, even while a panic unwinds: no node may stay in the queue after
/// its stack frame is gone.
struct Release<'a, L: RawLock> {
    lock: &'a L,
    node: &'a L::Node,
}

impl<L: RawLock> Drop for Release<'_, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.release(self.node) };
    }
}

impl<T, L: RawLock<Memory = Native> + Zeroable> Guarded<T, L> {
    /// Like [`new`](Self::new), but `const`.
    pub const fn fresh(value: T) -> Self {
        // SAFETY: a lock whose bytes are all zero is a free lock.
        let lock = unsafe { MaybeUninit::zeroed().assume_init() };
        Self { lock, data: <<Native as Memory>::Data<T>>::new(value) }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::lock::{Mcs, TryLock};
    use crate::wait::Spin;

    #[test]
    fn a_panic_releases() {
        let guarded = Guarded::<u32, Mcs<Spin>>::new(1);
        let panics = AssertUnwindSafe(|| guarded.with(|_| panic!("on purpose")));
        assert!(catch_unwind(panics).is_err());
        let node = Default::default();
        // SAFETY: the node stays on this stack until it is released.
        unsafe {
            assert!(guarded.lock.try_acquire(&node), "the queue has a node that is gone");
            guarded.lock.release(&node);
        }
    }
}
