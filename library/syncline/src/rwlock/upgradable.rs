//! Readers that may become the writer, for locks that have upgradable shares.

use core::marker::PhantomData;
use core::ops::Deref;
use core::time::Duration;

use super::data::RwLock;
use super::guards::{RwLockReadGuard, RwLockWriteGuard};
use crate::deadline::{Deadline, after};
use crate::lock::{TimedUpgrade, Upgradable, Upgrade};
use crate::mapped::{shown_as_its_value, take_node};
use crate::memory::Pooled;
use crate::owner::Mode;
use crate::watched::SharedNode;

/// The right to read an [`RwLock`]'s value, and to become its writer, until dropped.
///
/// One thread at a time can have it, while other threads are ordinary readers. The default lock has
/// no upgradable share, since its writers would pay for it; [`Upgradable`] has one:
///
/// ```
/// use syncline::{RwLock, RwLockUpgradableReadGuard};
/// use syncline::lock::Upgradable;
///
/// let names: RwLock<Vec<&str>, Upgradable> = RwLock::with_lock(vec!["mcs"]);
/// let seen = names.upgradable_read();
/// if !seen.contains(&"clh") {
///     // No thread has written since.
///     RwLockUpgradableReadGuard::upgrade(seen).push("clh");
/// }
/// assert_eq!(*names.read(), ["mcs", "clh"]);
/// ```
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct RwLockUpgradableReadGuard<'a, T: ?Sized, L: Upgrade = Upgradable> {
    lock: &'a RwLock<T, L>,
    node: SharedNode<L>,
    /// Makes the guard `!Send`: the thread that acquired the lock must release it.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references to the value.
unsafe impl<T: ?Sized + Sync, L: Upgrade> Sync for RwLockUpgradableReadGuard<'_, T, L> {}

impl<T: ?Sized, L: Upgrade> RwLock<T, L> {
    /// Waits for the upgradable share, and keeps it as long as the guard lives. Acquire ordering.
    ///
    /// # Panics
    ///
    /// Same panics as [`read`](Self::read); in debug builds with the feature `std` also if this
    /// thread has the upgradable share.
    #[track_caller]
    pub fn upgradable_read(&self) -> RwLockUpgradableReadGuard<'_, T, L> {
        let node = Pooled::new();
        let waiting = self.lock.owner.waits(Mode::Upgradable, self.named());
        // SAFETY: a pooled node stays where it is until the guard drops it, and leaks with it.
        unsafe { self.raw().acquire_upgradable(&node) };
        waiting.ends();
        self.lock.begins_share(Mode::Upgradable);
        // SAFETY: the upgradable share is held with this node.
        unsafe { RwLockUpgradableReadGuard::new(self, node) }
    }

    /// Takes the upgradable share if that needs no waiting; otherwise returns `None`. Acquire
    /// ordering.
    #[track_caller]
    pub fn try_upgradable_read(&self) -> Option<RwLockUpgradableReadGuard<'_, T, L>> {
        let node = Pooled::new();
        // SAFETY: as in `upgradable_read`.
        unsafe {
            if !self.raw().try_acquire_upgradable(&node) {
                return None;
            }
            self.lock.begins_share(Mode::Upgradable);
            Some(RwLockUpgradableReadGuard::new(self, node))
        }
    }
}

impl<'a, T: ?Sized, L: Upgrade> RwLockUpgradableReadGuard<'a, T, L> {
    /// # Safety
    ///
    /// The upgradable share is held with this node.
    pub(super) unsafe fn new(lock: &'a RwLock<T, L>, node: SharedNode<L>) -> Self {
        Self { lock, node, stays: PhantomData }
    }

    /// The lock that this guard shares.
    pub fn rwlock(guard: &Self) -> &'a RwLock<T, L> {
        guard.lock
    }

    /// Waits until all other readers have left, and turns this share into the exclusive lock. No
    /// thread writes in between. Acquire ordering. The thread must not have another share of the
    /// lock, or it waits for itself.
    ///
    /// # Panics
    ///
    /// In debug builds with the feature `std`, if this thread has another share, or would wait for
    /// a reader that waits for this thread, directly or through other threads.
    #[track_caller]
    pub fn upgrade(guard: Self) -> RwLockWriteGuard<'a, T, L> {
        let lock = guard.lock;
        // A panic here drops the guard.
        let waiting = lock.lock.owner.waits(Mode::Upgraded, lock.named());
        let (share, node) = (take_node!(guard), Pooled::new());
        // SAFETY: the upgradable share is held with this node; pooled nodes stay.
        unsafe {
            lock.raw().upgrade(&share, &node);
            waiting.ends();
            lock.lock.owner.unshare(Mode::Upgradable);
            lock.lock.begins();
            RwLockWriteGuard::new(lock, node)
        }
    }

    /// Turns this share into the exclusive lock if there is no other reader. Acquire ordering.
    ///
    /// # Errors
    ///
    /// The unchanged guard, if there is another reader.
    #[track_caller]
    pub fn try_upgrade(guard: Self) -> Result<RwLockWriteGuard<'a, T, L>, Self> {
        let lock = guard.lock;
        let (share, node) = (take_node!(guard), Pooled::new());
        // SAFETY: as in `upgrade`; if it fails the share is held as before.
        unsafe {
            if !lock.raw().try_upgrade(&share, &node) {
                return Err(Self::new(lock, share));
            }
            lock.lock.owner.unshare(Mode::Upgradable);
            lock.lock.begins();
            Ok(RwLockWriteGuard::new(lock, node))
        }
    }

    /// Turns this into an ordinary share, so that another thread may have the upgradable one.
    #[track_caller]
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T, L> {
        let lock = guard.lock;
        let share = take_node!(guard);
        lock.lock.owner.unshare(Mode::Upgradable);
        // SAFETY: the upgradable share is held with this node, and then an ordinary one.
        unsafe {
            lock.raw().downgrade_upgradable(&share);
            lock.lock.owner.share(Mode::Shared);
            RwLockReadGuard::new(lock, share)
        }
    }
}

impl<'a, T: ?Sized, L: Upgrade> RwLockWriteGuard<'a, T, L> {
    /// Turns this into the upgradable share. No thread writes in between. Release ordering.
    #[track_caller]
    pub fn downgrade_to_upgradable(guard: Self) -> RwLockUpgradableReadGuard<'a, T, L> {
        let lock = guard.lock;
        let (node, share) = (take_node!(guard), Pooled::new());
        lock.lock.ends();
        // SAFETY: the lock was acquired with this node; pooled nodes stay until their guard ends.
        unsafe {
            lock.raw().downgrade_to_upgradable(&node, &share);
            lock.lock.owner.share(Mode::Upgradable);
            RwLockUpgradableReadGuard::new(lock, share)
        }
    }
}

impl<T: ?Sized, L: TimedUpgrade> RwLock<T, L> {
    /// Waits for the upgradable share, for at most the given time. Acquire ordering.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_read_for`](RwLock::try_read_for).
    #[track_caller]
    pub fn try_upgradable_read_for(
        &self,
        patience: Duration,
    ) -> Option<RwLockUpgradableReadGuard<'_, T, L>> {
        self.try_upgradable_read_until(after::<L::Memory>(patience))
    }

    /// Waits for the upgradable share until an `Instant`, or a time on the memory's clock. Acquire
    /// ordering.
    ///
    /// # Panics
    ///
    /// Same panics as [`try_read_for`](RwLock::try_read_for).
    #[track_caller]
    pub fn try_upgradable_read_until(
        &self,
        deadline: impl Deadline<L::Memory>,
    ) -> Option<RwLockUpgradableReadGuard<'_, T, L>> {
        self.lock.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: as in `upgradable_read`.
        unsafe {
            if !self.raw().acquire_upgradable_until(&node, deadline.on_clock()) {
                return None;
            }
            self.lock.begins_share(Mode::Upgradable);
            Some(RwLockUpgradableReadGuard::new(self, node))
        }
    }
}

impl<'a, T: ?Sized, L: TimedUpgrade> RwLockUpgradableReadGuard<'a, T, L> {
    /// Like [`upgrade`](Self::upgrade), but waits for at most the given time.
    ///
    /// # Errors
    ///
    /// The unchanged guard, if there are still other readers.
    #[track_caller]
    pub fn try_upgrade_for(
        guard: Self,
        patience: Duration,
    ) -> Result<RwLockWriteGuard<'a, T, L>, Self> {
        Self::try_upgrade_until(guard, after::<L::Memory>(patience))
    }

    /// Like [`upgrade`](Self::upgrade), but waits until an `Instant` or a time on the memory's
    /// clock.
    ///
    /// # Errors
    ///
    /// The unchanged guard, if there are still other readers.
    #[track_caller]
    pub fn try_upgrade_until(
        guard: Self,
        deadline: impl Deadline<L::Memory>,
    ) -> Result<RwLockWriteGuard<'a, T, L>, Self> {
        let deadline = deadline.on_clock();
        let lock = guard.lock;
        let (share, node) = (take_node!(guard), Pooled::new());
        // SAFETY: as in `try_upgrade`.
        unsafe {
            if !lock.raw().upgrade_until(&share, &node, deadline) {
                return Err(Self::new(lock, share));
            }
            lock.lock.owner.unshare(Mode::Upgradable);
            lock.lock.begins();
            Ok(RwLockWriteGuard::new(lock, node))
        }
    }
}

impl<T: ?Sized, L: Upgrade> Deref for RwLockUpgradableReadGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: we share the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, L: Upgrade> Drop for RwLockUpgradableReadGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        self.lock.lock.ends_share(Mode::Upgradable);
        // SAFETY: the upgradable share is held with this node.
        unsafe { self.lock.raw().release_upgradable(&self.node) };
    }
}

shown_as_its_value!(RwLockUpgradableReadGuard<'_, T, L: Upgrade>);
