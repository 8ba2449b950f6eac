//! The traits of `lock_api` 0.5, whose guards carry the queue node from the acquisition to the
//! release. So every lock that can be tried has these traits.

use core::marker::PhantomData;

use bytemuck::Zeroable;
use lock_api::{RawMutex, RawRwLock, RawRwLockDowngrade};
use lock_api::{RawRwLockUpgrade, RawRwLockUpgradeDowngrade};

use super::raw::{Raw, free};
use crate::lock::{Downgrade, RawLock, RawSharedLock, TryLock, TrySharedLock, Upgrade};
use crate::memory::{Memory, Pooled};

/// The part that `lock_api`'s guards carry: the acquisition's queue node. It can't be sent to
/// another thread.
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

// SAFETY: a shared reference to a node gives access to nothing; a node can only be consumed.
unsafe impl<N: Default, M: Memory> Sync for Node<N, M> {}

/// The node of a lock's exclusive acquisition.
pub type NodeOf<L> = Node<<L as RawLock>::Node, <L as RawLock>::Memory>;
/// The node of a lock's shared acquisition.
pub type SharedNodeOf<L> = Node<<L as RawSharedLock>::SharedNode, <L as RawLock>::Memory>;

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

    /// Shares the lock for a moment if that needs no waiting; otherwise returns `true`.
    fn is_locked_exclusive(&self) -> bool {
        match self.try_lock_shared() {
            // SAFETY: we have just acquired it with this guard.
            Some(guard) => unsafe { self.unlock_shared(guard) },
            None => return true,
        }
        false
    }
}

// SAFETY: as for `RawRwLock`; a lock that can be downgraded lets no thread write in between.
unsafe impl<L: TrySharedLock + Downgrade + Zeroable> RawRwLockDowngrade for Raw<L> {
    unsafe fn downgrade(&self, guard: Self::ExclusiveGuard) -> Self::SharedGuard {
        let share = Node::new();
        // SAFETY: our caller holds the lock with this node; the share's stays until its release.
        unsafe { self.0.downgrade(&guard.node, &share.node) };
        share
    }
}

// SAFETY: as for `RawRwLock`; one thread at a time has the upgradable share.
unsafe impl<L: Upgrade + Zeroable> RawRwLockUpgrade for Raw<L> {
    type UpgradableGuard = SharedNodeOf<L>;

    fn lock_upgradable(&self) -> Self::UpgradableGuard {
        let share = Node::new();
        // SAFETY: the node stays in place until the release.
        unsafe { self.0.acquire_upgradable(&share.node) };
        share
    }

    fn try_lock_upgradable(&self) -> Option<Self::UpgradableGuard> {
        let share = Node::new();
        // SAFETY: as in `lock_upgradable`.
        unsafe { self.0.try_acquire_upgradable(&share.node) }.then_some(share)
    }

    unsafe fn unlock_upgradable(&self, guard: Self::UpgradableGuard) {
        // SAFETY: our caller has the upgradable share with this node.
        unsafe { self.0.release_upgradable(&guard.node) };
    }

    unsafe fn upgrade(&self, guard: Self::UpgradableGuard) -> Self::ExclusiveGuard {
        let node = Node::new();
        // SAFETY: our caller has the upgradable share with this node; the new one stays.
        unsafe { self.0.upgrade(&guard.node, &node.node) };
        node
    }

    unsafe fn try_upgrade(
        &self,
        guard: Self::UpgradableGuard,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let node = Node::new();
        // SAFETY: as in `upgrade`.
        if unsafe { self.0.try_upgrade(&guard.node, &node.node) } { Ok(node) } else { Err(guard) }
    }
}

// SAFETY: as above.
unsafe impl<L: Upgrade + Downgrade + Zeroable> RawRwLockUpgradeDowngrade for Raw<L> {
    unsafe fn downgrade_upgradable(&self, guard: Self::UpgradableGuard) -> Self::SharedGuard {
        // SAFETY: our caller has the upgradable share with this node.
        unsafe { self.0.downgrade_upgradable(&guard.node) };
        guard
    }

    unsafe fn downgrade_to_upgradable(&self, guard: Self::ExclusiveGuard) -> Self::UpgradableGuard {
        let share = Node::new();
        // SAFETY: our caller holds the lock with this node; the share's stays until its release.
        unsafe { self.0.downgrade_to_upgradable(&guard.node, &share.node) };
        share
    }
}

/// Deadlines of `std::time::Instant`, as parking_lot has them.
#[cfg(feature = "std")]
mod timed {
    use core::time::Duration;
    use std::time::Instant;

    use lock_api::{RawMutexTimed, RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeTimed};

    use super::{Node, Raw, Zeroable};
    use crate::deadline::{Deadline, after};
    use crate::lock::{TimedLock, TimedSharedLock, TimedUpgrade};
    use crate::memory::Native;

    impl<L: TimedLock<Memory = Native>> Raw<L> {
        fn acquire_until(&self, deadline: Duration) -> Option<super::NodeOf<L>> {
            let guard = Node::new();
            // SAFETY: the node stays in place until the release.
            unsafe { self.0.acquire_until(&guard.node, deadline) }.then_some(guard)
        }
    }

    impl<L: TimedSharedLock<Memory = Native>> Raw<L> {
        fn share_until(&self, deadline: Duration) -> Option<super::SharedNodeOf<L>> {
            let guard = Node::new();
            // SAFETY: the node stays in place until the release.
            unsafe { self.0.acquire_shared_until(&guard.node, deadline) }.then_some(guard)
        }
    }

    // SAFETY: as for `RawMutex`.
    unsafe impl<L: TimedLock<Memory = Native> + Zeroable> RawMutexTimed for Raw<L> {
        type Duration = Duration;
        type Instant = Instant;

        fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
            self.acquire_until(after::<Native>(timeout))
        }

        fn try_lock_until(&self, timeout: Instant) -> Option<Self::Guard> {
            self.acquire_until(timeout.on_clock())
        }
    }

    // SAFETY: as for `RawRwLock`.
    unsafe impl<L: TimedSharedLock<Memory = Native> + Zeroable> RawRwLockTimed for Raw<L> {
        type Duration = Duration;
        type Instant = Instant;

        fn try_lock_shared_for(&self, timeout: Duration) -> Option<Self::SharedGuard> {
            self.share_until(after::<Native>(timeout))
        }

        fn try_lock_shared_until(&self, timeout: Instant) -> Option<Self::SharedGuard> {
            self.share_until(timeout.on_clock())
        }

        fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<Self::ExclusiveGuard> {
            self.acquire_until(after::<Native>(timeout))
        }

        fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<Self::ExclusiveGuard> {
            self.acquire_until(timeout.on_clock())
        }
    }

    impl<L: TimedUpgrade<Memory = Native> + Zeroable> Raw<L> {
        fn upgradable_until(&self, deadline: Duration) -> Option<super::SharedNodeOf<L>> {
            let share = Node::new();
            // SAFETY: the node stays in place until the release.
            unsafe { self.0.acquire_upgradable_until(&share.node, deadline) }.then_some(share)
        }

        /// # Safety
        ///
        /// The upgradable share is held with this node.
        unsafe fn upgrade_until(
            &self,
            share: super::SharedNodeOf<L>,
            deadline: Duration,
        ) -> Result<super::NodeOf<L>, super::SharedNodeOf<L>> {
            let node = Node::new();
            // SAFETY: our caller's promise; the new node stays.
            let alone = unsafe { self.0.upgrade_until(&share.node, &node.node, deadline) };
            if alone { Ok(node) } else { Err(share) }
        }
    }

    // SAFETY: as for `RawRwLockUpgrade`.
    unsafe impl<L: TimedUpgrade<Memory = Native> + Zeroable> RawRwLockUpgradeTimed for Raw<L> {
        fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<Self::UpgradableGuard> {
            self.upgradable_until(after::<Native>(timeout))
        }

        fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<Self::UpgradableGuard> {
            self.upgradable_until(timeout.on_clock())
        }

        unsafe fn try_upgrade_for(
            &self,
            guard: <Self as RawRwLockUpgrade>::UpgradableGuard,
            timeout: Duration,
        ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
            // SAFETY: our caller has the upgradable share with this node.
            unsafe { self.upgrade_until(guard, after::<Native>(timeout)) }
        }

        unsafe fn try_upgrade_until(
            &self,
            guard: <Self as RawRwLockUpgrade>::UpgradableGuard,
            timeout: Instant,
        ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
            // SAFETY: our caller has the upgradable share with this node.
            unsafe { self.upgrade_until(guard, timeout.on_clock()) }
        }
    }
}
