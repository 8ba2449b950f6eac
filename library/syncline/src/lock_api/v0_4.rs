//! The traits of `lock_api` 0.4, whose guards carry nothing from the acquisition to the release.
//!
//! So only locks whose acquisitions need no queue node have these traits: the locks for which
//! `docs/locks.md` says so, all locks behind a gate, and [`Upgradable`](crate::lock::Upgradable)
//! over a shared lock of these.

use bytemuck::Zeroable;
use lock_api_0_4::{GuardNoSend, RawMutex, RawRwLock, RawRwLockDowngrade};
use lock_api_0_4::{RawRwLockUpgrade, RawRwLockUpgradeDowngrade};

use super::raw::{Raw, free};
use crate::lock::{Downgrade, RawLock, RawSharedLock, TryLock, TrySharedLock, Upgrade};

/// A lock whose acquisitions need no node.
pub trait Nodeless: RawLock<Node = ()> {}
impl<L: RawLock<Node = ()>> Nodeless for L {}

/// A shared lock whose acquisitions need no node.
pub trait SharedNodeless: RawSharedLock<Node = (), SharedNode = ()> {}
impl<L: RawSharedLock<Node = (), SharedNode = ()>> SharedNodeless for L {}

// SAFETY: a `RawLock` excludes and orders as required.
unsafe impl<L: TryLock + Nodeless + Zeroable> RawMutex for Raw<L> {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait wants it")]
    const INIT: Self = free();
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        // SAFETY: there is no node.
        unsafe { self.0.acquire(&()) };
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // SAFETY: there is no node.
        unsafe { self.0.try_acquire(&()) }
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: our caller holds the lock.
        unsafe { self.0.release(&()) };
    }
}

// SAFETY: as for `RawMutex`; a `RawSharedLock` keeps readers and writers apart.
unsafe impl<L: TrySharedLock + SharedNodeless + Zeroable> RawRwLock for Raw<L> {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait wants it")]
    const INIT: Self = free();
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        // SAFETY: there is no node.
        unsafe { self.0.acquire_shared(&()) };
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        // SAFETY: there is no node.
        unsafe { self.0.try_acquire_shared(&()) }
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: our caller shares the lock.
        unsafe { self.0.release_shared(&()) };
    }

    #[inline]
    fn lock_exclusive(&self) {
        // SAFETY: there is no node.
        unsafe { self.0.acquire(&()) };
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        // SAFETY: there is no node.
        unsafe { self.0.try_acquire(&()) }
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: our caller holds the lock.
        unsafe { self.0.release(&()) };
    }
}

// SAFETY: as for `RawRwLock`; a lock that can be downgraded lets no thread write in between.
unsafe impl<L> RawRwLockDowngrade for Raw<L>
where
    L: TrySharedLock + SharedNodeless + Downgrade + Zeroable,
{
    unsafe fn downgrade(&self) {
        // SAFETY: our caller holds the lock.
        unsafe { self.0.downgrade(&(), &()) };
    }
}

// SAFETY: as for `RawRwLock`; one thread at a time has the upgradable share.
unsafe impl<L: Upgrade + SharedNodeless + Zeroable> RawRwLockUpgrade for Raw<L> {
    fn lock_upgradable(&self) {
        // SAFETY: there is no node.
        unsafe { self.0.acquire_upgradable(&()) };
    }

    fn try_lock_upgradable(&self) -> bool {
        // SAFETY: there is no node.
        unsafe { self.0.try_acquire_upgradable(&()) }
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: our caller has the upgradable share.
        unsafe { self.0.release_upgradable(&()) };
    }

    unsafe fn upgrade(&self) {
        // SAFETY: our caller has the upgradable share.
        unsafe { self.0.upgrade(&(), &()) };
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: our caller has the upgradable share.
        unsafe { self.0.try_upgrade(&(), &()) }
    }
}

// SAFETY: as above.
unsafe impl<L> RawRwLockUpgradeDowngrade for Raw<L>
where
    L: Upgrade + Downgrade + SharedNodeless + Zeroable,
{
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: our caller has the upgradable share.
        unsafe { self.0.downgrade_upgradable(&()) };
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: our caller holds the lock.
        unsafe { self.0.downgrade_to_upgradable(&(), &()) };
    }
}

/// Deadlines of `std::time::Instant`, as parking_lot has them.
#[cfg(feature = "std")]
mod timed {
    use core::time::Duration;
    use std::time::Instant;

    use lock_api_0_4::{RawMutexTimed, RawRwLockTimed, RawRwLockUpgradeTimed};

    use super::{Nodeless, Raw, SharedNodeless, Zeroable};
    use crate::deadline::{Deadline, after};
    use crate::lock::{TimedLock, TimedSharedLock, TimedUpgrade};
    use crate::memory::Native;

    // SAFETY: as for `RawMutex`.
    unsafe impl<L> RawMutexTimed for Raw<L>
    where
        L: TimedLock<Memory = Native> + Nodeless + Zeroable,
    {
        type Duration = Duration;
        type Instant = Instant;

        fn try_lock_for(&self, timeout: Duration) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_until(&(), after::<Native>(timeout)) }
        }

        fn try_lock_until(&self, timeout: Instant) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_until(&(), timeout.on_clock()) }
        }
    }

    // SAFETY: as for `RawRwLock`.
    unsafe impl<L> RawRwLockTimed for Raw<L>
    where
        L: TimedSharedLock<Memory = Native> + SharedNodeless + Zeroable,
    {
        type Duration = Duration;
        type Instant = Instant;

        fn try_lock_shared_for(&self, timeout: Duration) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_shared_until(&(), after::<Native>(timeout)) }
        }

        fn try_lock_shared_until(&self, timeout: Instant) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_shared_until(&(), timeout.on_clock()) }
        }

        fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_until(&(), after::<Native>(timeout)) }
        }

        fn try_lock_exclusive_until(&self, timeout: Instant) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_until(&(), timeout.on_clock()) }
        }
    }

    // SAFETY: as for `RawRwLockUpgrade`.
    unsafe impl<L> RawRwLockUpgradeTimed for Raw<L>
    where
        L: TimedUpgrade<Memory = Native> + SharedNodeless + Zeroable,
    {
        fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_upgradable_until(&(), after::<Native>(timeout)) }
        }

        fn try_lock_upgradable_until(&self, timeout: Instant) -> bool {
            // SAFETY: there is no node.
            unsafe { self.0.acquire_upgradable_until(&(), timeout.on_clock()) }
        }

        unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
            // SAFETY: our caller has the upgradable share.
            unsafe { self.0.upgrade_until(&(), &(), after::<Native>(timeout)) }
        }

        unsafe fn try_upgrade_until(&self, timeout: Instant) -> bool {
            // SAFETY: our caller has the upgradable share.
            unsafe { self.0.upgrade_until(&(), &(), timeout.on_clock()) }
        }
    }
}
