//! The traits of the `lock_api` crate, so that the locks drop into code written for it.
//!
//! [`Raw`] makes any lock of the catalogue that can be tried a `lock_api::RawMutex`, and one that
//! can be shared a `lock_api::RawRwLock`; `lock_api`'s guard carries the queue node.
//!
//! ```
//! use syncline::lock::Ticket;
//! use syncline::lock_api::Raw;
//!
//! static TOTAL: lock_api::Mutex<Raw<Ticket>, u64> = lock_api::Mutex::new(0);
//! *TOTAL.lock() += 1;
//! ```

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::time::Duration;

use bytemuck::Zeroable;
use lock_api::{RawMutex, RawMutexTimed, RawRwLock, RawRwLockTimed};

use crate::lock::{RawLock, RawSharedLock, TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use crate::memory::{Memory, Pooled};

/// A lock of the catalogue, with `lock_api`'s traits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Raw<L>(L);

/// What `lock_api`'s guards carry: the acquisition's queue node. It stays with its thread.
#[derive(Debug)]
pub struct Node<N: Default, M: Memory> {
    node: Pooled<N, M>,
    stays: PhantomData<*const ()>,
}

impl<N: Default, M: Memory> Node<N, M> {
    #[inline]
    fn new() -> Self {
        Self { node: Pooled::new(), stays: PhantomData }
    }
}

// SAFETY: a shared node gives nothing out; it exists to be consumed.
unsafe impl<N: Default, M: Memory> Sync for Node<N, M> {}

/// The node of a lock's exclusive acquisition.
pub type NodeOf<L> = Node<<L as RawLock>::Node, <L as RawLock>::Memory>;
/// The node of a lock's shared acquisition.
pub type SharedNodeOf<L> = Node<<L as RawSharedLock>::SharedNode, <L as RawLock>::Memory>;

/// A fresh lock.
const fn free<L: Zeroable>() -> Raw<L> {
    // SAFETY: a lock of zeros is a fresh one.
    Raw(unsafe { MaybeUninit::zeroed().assume_init() })
}

// SAFETY: a `RawLock` excludes and orders as required. A node is pooled: it stays where it is
// until the release, and leaks when the guard is forgotten.
unsafe impl<L: TryLock + Zeroable> RawMutex for Raw<L> {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait wants it")]
    const INIT: Self = free();
    type Guard = NodeOf<L>;

    #[inline]
    fn lock(&self) -> Self::Guard {
        let guard = Node::new();
        // SAFETY: the node stays in place until the release.
        unsafe { self.0.acquire(&guard.node) };
        guard
    }

    #[inline]
    fn try_lock(&self) -> Option<Self::Guard> {
        let guard = Node::new();
        // SAFETY: as in `lock`.
        unsafe { self.0.try_acquire(&guard.node) }.then_some(guard)
    }

    #[inline]
    unsafe fn unlock(&self, guard: Self::Guard) {
        // SAFETY: our caller holds the lock with this node.
        unsafe { self.0.release(&guard.node) };
    }

    /// Takes the lock for a moment if it is free.
    fn is_locked(&self) -> bool {
        match self.try_lock() {
            // SAFETY: we have just acquired it with this guard.
            Some(guard) => unsafe { self.unlock(guard) },
            None => return true,
        }
        false
    }
}

// SAFETY: as for `RawMutex`.
unsafe impl<L: TimedLock + Zeroable> RawMutexTimed for Raw<L> {
    type Duration = Duration;
    /// A time on the memory's clock, [`Memory::now`].
    type Instant = Duration;

    fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
        self.try_lock_until(L::Memory::now().saturating_add(timeout))
    }

    fn try_lock_until(&self, timeout: Duration) -> Option<Self::Guard> {
        let guard = Node::new();
        // SAFETY: as in `lock`.
        unsafe { self.0.acquire_until(&guard.node, timeout) }.then_some(guard)
    }
}

// SAFETY: as for `RawMutex`; a `RawSharedLock` keeps readers and writers apart.
unsafe impl<L: TrySharedLock + Zeroable> RawRwLock for Raw<L> {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait wants it")]
    const INIT: Self = free();
    type SharedGuard = SharedNodeOf<L>;
    type ExclusiveGuard = NodeOf<L>;

    #[inline]
    fn lock_shared(&self) -> Self::SharedGuard {
        let guard = Node::new();
        // SAFETY: the node stays in place until the release.
        unsafe { self.0.acquire_shared(&guard.node) };
        guard
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
        let guard = Node::new();
        // SAFETY: as in `lock_shared`.
        unsafe { self.0.try_acquire_shared(&guard.node) }.then_some(guard)
    }

    #[inline]
    unsafe fn unlock_shared(&self, guard: Self::SharedGuard) {
        // SAFETY: our caller shares the lock with this node.
        unsafe { self.0.release_shared(&guard.node) };
    }

    #[inline]
    fn lock_exclusive(&self) -> Self::ExclusiveGuard {
        self.lock()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
        self.try_lock()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, guard: Self::ExclusiveGuard) {
        // SAFETY: our caller holds the lock with this node.
        unsafe { self.unlock(guard) };
    }

    /// Takes the lock for a moment if it is free.
    fn is_locked(&self) -> bool {
        RawMutex::is_locked(self)
    }

    /// Shares the lock for a moment if it is not held exclusively.
    fn is_locked_exclusive(&self) -> bool {
        match self.try_lock_shared() {
            // SAFETY: we have just acquired it with this guard.
            Some(guard) => unsafe { self.unlock_shared(guard) },
            None => return true,
        }
        false
    }
}

// SAFETY: as for `RawRwLock`.
unsafe impl<L: TimedSharedLock + Zeroable> RawRwLockTimed for Raw<L> {
    type Duration = Duration;
    /// A time on the memory's clock, [`Memory::now`].
    type Instant = Duration;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Self::SharedGuard> {
        self.try_lock_shared_until(L::Memory::now().saturating_add(timeout))
    }

    fn try_lock_shared_until(&self, timeout: Duration) -> Option<Self::SharedGuard> {
        let guard = Node::new();
        // SAFETY: as in `lock_shared`.
        unsafe { self.0.acquire_shared_until(&guard.node, timeout) }.then_some(guard)
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<Self::ExclusiveGuard> {
        self.try_lock_for(timeout)
    }

    fn try_lock_exclusive_until(&self, timeout: Duration) -> Option<Self::ExclusiveGuard> {
        self.try_lock_until(timeout)
    }
}
