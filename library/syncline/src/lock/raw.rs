//! The traits of locks: every lock can be acquired and released, and some locks can do more.
//!
//! A lock implements [`RawLock`], and those of the other traits whose promises it can keep. The
//! types that a program uses, [`Mutex`](crate::Mutex) and [`RwLock`](crate::RwLock), are built on
//! these traits and are the same for all locks.

use core::time::Duration;

use crate::memory::Memory;

/// A lock that one thread holds at a time.
///
/// Acquiring has Acquire ordering and releasing Release: what a holder did is visible to all later
/// holders.
///
/// # Safety
///
/// From an acquisition to its release, no other acquisition of the same lock succeeds, and the
/// orderings above hold. A lock that is all zero bits, in a memory in which that is possible, is a
/// fresh lock. A lock can be moved and dropped even if it is held by a guard that was forgotten.
pub unsafe trait RawLock: Default + Send + Sync {
    /// The memory that the lock is in.
    type Memory: Memory;
    /// What an acquisition carries until its release: a queue node, or nothing. A node that no
    /// acquisition uses is *free*.
    type Node: Default;

    /// Waits until the lock is free, and acquires it.
    ///
    /// # Safety
    ///
    /// Nothing else uses `node`, and `node` stays alive at its address until `release` with it has
    /// returned. If the lock is never released, `node` stays forever.
    unsafe fn acquire(&self, node: &Self::Node);

    /// Releases the lock, which another thread may then acquire.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn release(&self, node: &Self::Node);
}

/// A lock with a try, which acquires the lock only if that needs no waiting.
///
/// # Safety
///
/// Same requirements as [`RawLock`].
pub unsafe trait TryLock: RawLock {
    /// Acquires the lock if it is free, and returns whether it did. The try may fail while others
    /// wait, but never while the lock is free and no other thread uses it.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], if it succeeds; otherwise the node is free again.
    unsafe fn try_acquire(&self, node: &Self::Node) -> bool;
}

/// A lock whose waiters can give up.
///
/// # Safety
///
/// Same requirements as [`RawLock`].
pub unsafe trait TimedLock: TryLock {
    /// Waits for the lock until the deadline on the memory's clock, and returns whether the lock
    /// was acquired. A free lock is acquired even after the deadline.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], if it succeeds; otherwise the node is free again.
    unsafe fn acquire_until(&self, node: &Self::Node, deadline: Duration) -> bool;
}

/// A lock whose holder can find out whether others wait.
///
/// # Safety
///
/// Same requirements as [`RawLock`].
pub unsafe trait Contended: RawLock {
    /// Whether a thread waits for the lock, as far as the holder knows. `false` may be outdated.
    /// `true` stays true while the lock is held, unless waiters can give up.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn is_contended(&self, node: &Self::Node) -> bool;

    /// Releases the lock if the holder knows of a waiter, which then gets the lock. Returns whether
    /// the lock was released; if not, the lock is still held, with the same node.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    #[inline]
    unsafe fn release_to_waiter(&self, node: &Self::Node) -> bool {
        // SAFETY: our caller's promise.
        unsafe {
            let contended = self.is_contended(node);
            if contended {
                self.release(node);
            }
            contended
        }
    }
}

/// A lock that one thread holds alone, or several threads share.
///
/// # Safety
///
/// Same requirements as [`RawLock`]; while it is shared, no exclusive acquisition succeeds.
pub unsafe trait RawSharedLock: RawLock {
    /// What a shared acquisition carries until its release.
    type SharedNode: Default;

    /// Waits until no thread holds the lock alone, and shares it. Panics if the lock can't count
    /// one more reader.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], with [`release_shared`](Self::release_shared) as
    /// the release.
    unsafe fn acquire_shared(&self, node: &Self::SharedNode);

    /// Gives up the share that was acquired with this node.
    ///
    /// # Safety
    ///
    /// The share is held, and was acquired with this node.
    unsafe fn release_shared(&self, node: &Self::SharedNode);
}

/// A shared lock with tries, which share or acquire the lock only if that needs no waiting.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`].
pub unsafe trait TrySharedLock: RawSharedLock + TryLock {
    /// Shares the lock if that needs no waiting, and returns whether it did.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], if it succeeds; otherwise the node
    /// is free.
    unsafe fn try_acquire_shared(&self, node: &Self::SharedNode) -> bool;

    /// Like [`RawSharedLock::acquire_shared`], but returns `false` at once where `acquire_shared`
    /// panics because the lock can't count one more reader. A lock that counts to 2^27 or more may
    /// panic here as well.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], if it succeeds; otherwise the node
    /// is free.
    #[inline]
    unsafe fn acquire_shared_if_counted(&self, node: &Self::SharedNode) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.acquire_shared(node) };
        true
    }
}

/// A shared lock whose waiters can give up.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`].
pub unsafe trait TimedSharedLock: TrySharedLock + TimedLock {
    /// Waits for a share until the deadline on the memory's clock, and returns whether the lock is
    /// shared. If the lock can't count one more reader, returns `false` or panics.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`], if it succeeds; otherwise the node
    /// is free.
    unsafe fn acquire_shared_until(&self, node: &Self::SharedNode, deadline: Duration) -> bool;
}

/// A shared lock whose writer can become a reader.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`].
pub unsafe trait Downgrade: RawSharedLock {
    /// Turns the exclusive acquisition into a share, with Release ordering. No writer gets the lock
    /// in between. The call waits only if the readers that come in between are as many as the lock
    /// can count.
    ///
    /// # Safety
    ///
    /// The lock is held with `node`, which is free afterwards. `share` must meet the requirements
    /// of [`acquire_shared`](RawSharedLock::acquire_shared).
    unsafe fn downgrade(&self, node: &Self::Node, share: &Self::SharedNode);
}

/// A shared lock with a reader that can become the writer.
///
/// Only one thread at a time has the *upgradable* share. Other readers may share the lock
/// meanwhile.
///
/// # Safety
///
/// Same requirements as [`RawSharedLock`]. From an upgradable acquisition to its release, including
/// the time while it is upgraded, no other thread has the lock exclusively or has an upgradable
/// share of it.
pub unsafe trait Upgrade: TrySharedLock {
    /// Waits until no thread holds the lock alone or has the upgradable share, and takes the
    /// upgradable share.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawLock::acquire`], with
    /// [`release_upgradable`](Self::release_upgradable) as the release.
    unsafe fn acquire_upgradable(&self, share: &Self::SharedNode);

    /// Takes the upgradable share if that needs no waiting, and returns whether it did.
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire_upgradable`](Self::acquire_upgradable), if it succeeds;
    /// otherwise the node is free.
    unsafe fn try_acquire_upgradable(&self, share: &Self::SharedNode) -> bool;

    /// Gives up the upgradable share.
    ///
    /// # Safety
    ///
    /// The upgradable share is held with this node.
    unsafe fn release_upgradable(&self, share: &Self::SharedNode);

    /// Waits until all other readers have left. Then the caller holds the lock alone.
    ///
    /// # Safety
    ///
    /// The upgradable share is held with `share`, which is free afterwards. `node` must meet the
    /// requirements of [`RawLock::acquire`].
    unsafe fn upgrade(&self, share: &Self::SharedNode, node: &Self::Node);

    /// Upgrades the share if there is no other reader, and returns whether the caller now holds the
    /// lock alone.
    ///
    /// # Safety
    ///
    /// Same requirements as [`upgrade`](Self::upgrade), if it succeeds; otherwise the share is held
    /// as before, and `node` is free.
    unsafe fn try_upgrade(&self, share: &Self::SharedNode, node: &Self::Node) -> bool;

    /// Turns the upgradable share into an ordinary one, held with the same node.
    ///
    /// # Safety
    ///
    /// The upgradable share is held with this node.
    unsafe fn downgrade_upgradable(&self, share: &Self::SharedNode);

    /// Turns the exclusive acquisition into the upgradable share, with Release ordering. No
    /// writer gets the lock in between.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Downgrade::downgrade`].
    unsafe fn downgrade_to_upgradable(&self, node: &Self::Node, share: &Self::SharedNode);
}

/// A lock that has an upgradable share, and whose waiters can give up.
///
/// # Safety
///
/// Same requirements as [`Upgrade`].
pub unsafe trait TimedUpgrade: Upgrade + TimedSharedLock {
    /// Waits for the upgradable share until the deadline on the memory's clock, and returns whether
    /// the caller has the share.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Upgrade::try_acquire_upgradable`].
    unsafe fn acquire_upgradable_until(&self, share: &Self::SharedNode, deadline: Duration)
    -> bool;

    /// Waits until all other readers have left, or until the deadline on the memory's clock.
    /// Returns whether the caller now holds the lock alone.
    ///
    /// # Safety
    ///
    /// Same requirements as [`Upgrade::try_upgrade`].
    unsafe fn upgrade_until(
        &self,
        share: &Self::SharedNode,
        node: &Self::Node,
        deadline: Duration,
    ) -> bool;
}
