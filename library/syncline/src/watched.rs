//! A lock as `Mutex` and `RwLock` use it. Each acquisition has a node: from the pool for a guard,
//! on the stack for `with`. In debug builds, there are also notes of the threads that hold the lock
//! and wait for it.
//!
//! Guards are of several kinds (borrowed, mapped, with an `Arc`); all of them have a reference to
//! the lock and the node of an acquisition. Their sections begin and end in this file, which
//! reports that to the memory ([`Memory::acquired`], [`Memory::releasing`]). A pooled node stays
//! where it is until its guard gives it back after the release, and leaks with a guard that is
//! forgotten.

use core::time::Duration;

use crate::lock::{RawLock, RawSharedLock, TimedLock, TimedSharedLock, TryLock, TrySharedLock};
use crate::memory::{Memory, Own, Pooled};
use crate::owner::{Mode, Named, Owner};

#[cfg(all(test, feature = "std"))]
mod tests;

/// The node of an exclusive acquisition.
pub(crate) type Node<L> = Pooled<<L as RawLock>::Node, <L as RawLock>::Memory>;
/// The node of a share.
pub(crate) type SharedNode<L> = Pooled<<L as RawSharedLock>::SharedNode, <L as RawLock>::Memory>;

/// A lock, and the threads that hold it.
#[derive(Default)]
pub(crate) struct Watched<L> {
    pub(crate) lock: L,
    pub(crate) owner: Owner,
}

impl<L> Watched<L> {
    pub(crate) const fn new(lock: L) -> Self {
        Self { lock, owner: Owner::nobody() }
    }
}

impl<L: RawLock> Watched<L> {
    /// Notes that this thread's section begins: the thread has acquired the lock, on the caller's
    /// line.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn begins(&self) {
        self.owner.set();
        L::Memory::acquired();
    }

    /// Notes that this thread's section continues, after the lock was released and acquired again.
    #[inline(always)]
    pub(crate) fn begins_again(&self) {
        self.owner.set_again();
        L::Memory::acquired();
    }

    /// Notes that this thread's section ends. Called while the thread still holds the lock.
    #[inline(always)]
    pub(crate) fn ends(&self) {
        L::Memory::releasing();
        self.owner.clear();
    }

    #[inline]
    #[track_caller]
    pub(crate) fn acquire(&self, named: Named) -> Node<L> {
        let node = Pooled::new();
        let waiting = self.owner.waits(Mode::Alone, named);
        // SAFETY: a pooled node stays where it is until it is dropped, which its owner does after
        // the release; a forgotten one leaks.
        unsafe { self.lock.acquire(&node) };
        waiting.ends();
        self.begins();
        node
    }

    /// Runs a function while holding the lock, with a node for this call.
    #[inline]
    #[track_caller]
    pub(crate) fn with<R>(&self, named: Named, section: impl FnOnce() -> R) -> R {
        let node = Own::<L::Node, L::Memory>::default();
        let waiting = self.owner.waits(Mode::Alone, named);
        // SAFETY: the node stays until it is released at the end.
        unsafe { self.lock.acquire(&node) };
        waiting.ends();
        self.begins();
        // SAFETY: the lock was acquired with this node.
        let _release = AtEnd(|| unsafe { self.release(&node) });
        section()
    }

    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    #[inline]
    pub(crate) unsafe fn release(&self, node: &L::Node) {
        self.ends();
        // SAFETY: our caller's promise.
        unsafe { self.lock.release(node) };
    }
}

impl<L: TryLock> Watched<L> {
    #[inline]
    #[track_caller]
    pub(crate) fn try_acquire(&self) -> Option<Node<L>> {
        let node = Pooled::new();
        // SAFETY: as in `acquire`.
        if !unsafe { self.lock.try_acquire(&node) } {
            return None;
        }
        self.begins();
        Some(node)
    }
}

impl<L: TimedLock> Watched<L> {
    #[track_caller]
    pub(crate) fn acquire_until(&self, deadline: Duration) -> Option<Node<L>> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: as in `acquire`.
        if !unsafe { self.lock.acquire_until(&node, deadline) } {
            return None;
        }
        self.begins();
        Some(node)
    }
}

impl<L: RawSharedLock> Watched<L> {
    #[inline]
    #[track_caller]
    pub(crate) fn share(&self, named: Named) -> SharedNode<L> {
        let node = Pooled::new();
        let waiting = self.owner.waits(Mode::Shared, named);
        // SAFETY: as in `acquire`.
        unsafe { self.lock.acquire_shared(&node) };
        waiting.ends();
        self.begins_share(Mode::Shared);
        node
    }

    /// Runs a function while sharing the lock, with a node for this call.
    #[inline]
    #[track_caller]
    pub(crate) fn with_share<R>(&self, named: Named, section: impl FnOnce() -> R) -> R {
        let node = Own::<L::SharedNode, L::Memory>::default();
        let waiting = self.owner.waits(Mode::Shared, named);
        // SAFETY: the node stays until it is released at the end.
        unsafe { self.lock.acquire_shared(&node) };
        waiting.ends();
        self.begins_share(Mode::Shared);
        // SAFETY: this share was acquired with this node.
        let _release = AtEnd(|| unsafe { self.release_shared(&node) });
        section()
    }

    /// Notes that this thread's share begins, on the caller's line.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn begins_share(&self, mode: Mode) {
        self.owner.share(mode);
        L::Memory::acquired();
    }

    /// Notes that this thread's share ends. Called while the thread still has the share.
    #[inline(always)]
    pub(crate) fn ends_share(&self, mode: Mode) {
        L::Memory::releasing();
        self.owner.unshare(mode);
    }

    /// # Safety
    ///
    /// The lock is shared with this node.
    #[inline(always)]
    pub(crate) unsafe fn release_shared(&self, node: &L::SharedNode) {
        self.ends_share(Mode::Shared);
        // SAFETY: our caller's promise.
        unsafe { self.lock.release_shared(node) }
    }
}

impl<L: TrySharedLock> Watched<L> {
    #[inline]
    #[track_caller]
    pub(crate) fn try_share(&self) -> Option<SharedNode<L>> {
        let node = Pooled::new();
        // SAFETY: as in `acquire`.
        if !unsafe { self.lock.try_acquire_shared(&node) } {
            return None;
        }
        self.begins_share(Mode::Shared);
        Some(node)
    }
}

impl<L: TimedSharedLock> Watched<L> {
    #[track_caller]
    pub(crate) fn share_until(&self, deadline: Duration) -> Option<SharedNode<L>> {
        self.owner.expect_another();
        let node = Pooled::new();
        // SAFETY: as in `acquire`.
        if !unsafe { self.lock.acquire_shared_until(&node, deadline) } {
            return None;
        }
        self.begins_share(Mode::Shared);
        Some(node)
    }
}

/// Runs a function when dropped, even while a panic unwinds.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    #[inline]
    fn drop(&mut self) {
        self.0();
    }
}
