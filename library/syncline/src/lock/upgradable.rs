//! A shared lock with upgradable reads, made of any shared lock and a turn.
//!
//! An upgradable reader can become the writer without another writer in between. So all threads
//! that write, or may write later, take turns. The turn is a small lock that writers and upgradable
//! readers take first, and keep until the end. Ordinary readers don't take it. A thread that has
//! the turn can release its share and acquire exclusively, or release the exclusive lock and
//! acquire a share. Others may read meanwhile, but no other thread can write.
//!
//! ```text
//!                        turn    shared lock
//!   reader                -      share
//!   upgradable reader     held   share
//!   writer                held   exclusive
//!
//!   upgrade               held   share -> none -> exclusive
//!   downgrade             held   exclusive -> none -> share
//! ```
//!
//! A writer pays for two locks, an ordinary reader for one. Use this lock only if upgradable reads
//! are needed. A turn is kept while its writer waits for readers, so the shared lock decides which
//! readers go before a waiting writer.
//!
//! Source: none; databases have upgradable ("update") locks, with the rule that at most one of them
//! may be held (Gray and Reuter, "Transaction Processing", section 7.8).

use core::mem::forget;
use core::time::Duration;

use bytemuck::Zeroable;

use super::futex::Futex;
use super::raw::{Downgrade, RawLock, RawSharedLock, TimedLock, TimedSharedLock};
use super::raw::{TimedUpgrade, TryLock, TrySharedLock, Upgrade};
use super::rw_compact::CompactRw;
use crate::memory::Memory;
use crate::wait::{Park, Wait};

/// A shared lock `S`, and a turn for threads that write or may write later.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Upgradable<S: RawSharedLock = CompactRw> {
    turn: Futex<Park, S::Memory>,
    shared: S,
}

/// The turn of this thread. Dropping this value gives up the turn, even while the thread panics:
/// sharing the lock panics if the lock can't count one more reader.
struct Turn<'a, M: Memory>(&'a Futex<Park, M>);

impl<M: Memory> Drop for Turn<'_, M> {
    fn drop(&mut self) {
        // SAFETY: this thread has the turn.
        unsafe { self.0.release(&()) };
    }
}

impl<S: TrySharedLock> Upgradable<S> {
    /// Shares the lock again, for a thread that has the turn and has just released the lock. If the
    /// readers that came since are as many as the lock can count, waits until one of them leaves.
    /// This function must not panic instead: the caller's guard would then release a share that the
    /// caller doesn't hold.
    ///
    /// # Safety
    ///
    /// Same requirements as [`RawSharedLock::acquire_shared`].
    unsafe fn share_again(&self, share: &S::SharedNode) {
        let mut looks = 0;
        // SAFETY: our caller's promise.
        while !unsafe { self.shared.acquire_shared_if_counted(share) } {
            looks += 1;
            Park::pause::<S::Memory>(looks);
        }
    }
}

// SAFETY: zero is a free turn and a free lock.
unsafe impl<S: RawSharedLock + Zeroable> Zeroable for Upgradable<S> where
    Futex<Park, S::Memory>: Zeroable
{
}

// SAFETY: exclusion and orderings are those of the shared lock, which is acquired last and
// released first.
unsafe impl<S: RawSharedLock> RawLock for Upgradable<S> {
    type Memory = S::Memory;
    type Node = S::Node;

    #[inline]
    unsafe fn acquire(&self, node: &S::Node) {
        // SAFETY: our caller's promise.
        unsafe {
            self.turn.acquire(&());
            self.shared.acquire(node);
        }
    }

    #[inline]
    unsafe fn release(&self, node: &S::Node) {
        // SAFETY: the holder has both.
        unsafe {
            self.shared.release(node);
            self.turn.release(&());
        }
    }
}

// SAFETY: as above.
unsafe impl<S: TrySharedLock> TryLock for Upgradable<S> {
    #[inline]
    unsafe fn try_acquire(&self, node: &S::Node) -> bool {
        // SAFETY: our caller's promise; the turn is held where it is released.
        unsafe {
            if !self.turn.try_acquire(&()) {
                return false;
            }
            let taken = self.shared.try_acquire(node);
            if !taken {
                self.turn.release(&());
            }
            taken
        }
    }
}

// SAFETY: as above.
unsafe impl<S: TimedSharedLock> TimedLock for Upgradable<S> {
    unsafe fn acquire_until(&self, node: &S::Node, deadline: Duration) -> bool {
        // SAFETY: our caller's promise; the turn is held where it is released.
        unsafe {
            if !self.turn.acquire_until(&(), deadline) {
                return false;
            }
            let taken = self.shared.acquire_until(node, deadline);
            if !taken {
                self.turn.release(&());
            }
            taken
        }
    }
}

// SAFETY: a share is a share of the shared lock.
unsafe impl<S: RawSharedLock> RawSharedLock for Upgradable<S> {
    type SharedNode = S::SharedNode;

    #[inline]
    unsafe fn acquire_shared(&self, share: &S::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe { self.shared.acquire_shared(share) }
    }

    #[inline]
    unsafe fn release_shared(&self, share: &S::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe { self.shared.release_shared(share) }
    }
}

// SAFETY: as above.
unsafe impl<S: TrySharedLock> TrySharedLock for Upgradable<S> {
    #[inline]
    unsafe fn try_acquire_shared(&self, share: &S::SharedNode) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.shared.try_acquire_shared(share) }
    }

    #[inline]
    unsafe fn acquire_shared_if_counted(&self, share: &S::SharedNode) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.shared.acquire_shared_if_counted(share) }
    }
}

// SAFETY: as above.
unsafe impl<S: TimedSharedLock> TimedSharedLock for Upgradable<S> {
    unsafe fn acquire_shared_until(&self, share: &S::SharedNode, deadline: Duration) -> bool {
        // SAFETY: our caller's promise.
        unsafe { self.shared.acquire_shared_until(share, deadline) }
    }
}

// SAFETY: a thread acquires the shared lock exclusively only while it has the turn, and an
// upgradable acquisition keeps the turn until its release. So meanwhile no other thread has the
// lock exclusively, or an upgradable share of it.
unsafe impl<S: TrySharedLock> Upgrade for Upgradable<S> {
    unsafe fn acquire_upgradable(&self, share: &S::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe {
            self.turn.acquire(&());
            let turn = Turn(&self.turn);
            self.shared.acquire_shared(share);
            forget(turn);
        }
    }

    unsafe fn try_acquire_upgradable(&self, share: &S::SharedNode) -> bool {
        // SAFETY: our caller's promise; the turn is held where it is released.
        unsafe {
            if !self.turn.try_acquire(&()) {
                return false;
            }
            // No thread writes, so the share is refused only if no more readers can be counted.
            let taken = self.shared.try_acquire_shared(share);
            if !taken {
                self.turn.release(&());
            }
            taken
        }
    }

    unsafe fn release_upgradable(&self, share: &S::SharedNode) {
        // SAFETY: the holder has both.
        unsafe {
            self.shared.release_shared(share);
            self.turn.release(&());
        }
    }

    unsafe fn upgrade(&self, share: &S::SharedNode, node: &S::Node) {
        // SAFETY: our caller's promise.
        unsafe {
            self.shared.release_shared(share);
            self.shared.acquire(node);
        }
    }

    unsafe fn try_upgrade(&self, share: &S::SharedNode, node: &S::Node) -> bool {
        // SAFETY: our caller's promise. No thread writes meanwhile, so the share can be acquired
        // again.
        unsafe {
            self.shared.release_shared(share);
            let upgraded = self.shared.try_acquire(node);
            if !upgraded {
                self.share_again(share);
            }
            upgraded
        }
    }

    unsafe fn downgrade_upgradable(&self, _: &S::SharedNode) {
        // SAFETY: the holder has the turn.
        unsafe { self.turn.release(&()) }
    }

    unsafe fn downgrade_to_upgradable(&self, node: &S::Node, share: &S::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe {
            self.shared.release(node);
            self.share_again(share);
        }
    }
}

// SAFETY: as above.
unsafe impl<S: TimedSharedLock> TimedUpgrade for Upgradable<S> {
    unsafe fn acquire_upgradable_until(&self, share: &S::SharedNode, deadline: Duration) -> bool {
        // SAFETY: our caller's promise; the turn is held where it is released.
        unsafe {
            if !self.turn.acquire_until(&(), deadline) {
                return false;
            }
            let turn = Turn(&self.turn);
            // As in `try_acquire_upgradable`.
            let shares = self.shared.acquire_shared_until(share, deadline);
            if shares {
                forget(turn);
            }
            shares
        }
    }

    unsafe fn upgrade_until(
        &self,
        share: &S::SharedNode,
        node: &S::Node,
        deadline: Duration,
    ) -> bool {
        // SAFETY: our caller's promise. No thread writes meanwhile, so the share can be acquired
        // again.
        unsafe {
            self.shared.release_shared(share);
            let alone = self.shared.acquire_until(node, deadline);
            if !alone {
                self.share_again(share);
            }
            alone
        }
    }
}

// SAFETY: the turn keeps writers out until the share is held. Sharing waits for no writer, since no
// writer waits in the shared lock either.
unsafe impl<S: TrySharedLock> Downgrade for Upgradable<S> {
    unsafe fn downgrade(&self, node: &S::Node, share: &S::SharedNode) {
        // SAFETY: our caller's promise.
        unsafe {
            self.downgrade_to_upgradable(node, share);
            self.downgrade_upgradable(share);
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::panic::catch_unwind;
    use std::thread;

    use super::*;

    const MOST: u32 = (1 << 19) - 1;

    /// A lock with as many readers as it can count.
    fn full() -> Upgradable {
        let lock = <Upgradable>::default();
        let mut readers = 0;
        // SAFETY: there are no nodes.
        while readers < 1 << 20 && unsafe { lock.acquire_shared_if_counted(&()) } {
            readers += 1;
        }
        assert_eq!(readers, MOST);
        lock
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes a lock half a million times")]
    fn readers_that_cannot_be_counted_are_refused() {
        let lock = full();
        // SAFETY: there are no nodes, and as many shares are released as were acquired.
        unsafe {
            assert!(catch_unwind(|| lock.acquire_upgradable(&())).is_err());
            assert!(!lock.try_acquire_upgradable(&()));
            assert!(!lock.acquire_upgradable_until(&(), Duration::MAX));
            (0..MOST).for_each(|_| lock.release_shared(&()));
            // None of the refused calls has kept the turn.
            assert!(lock.try_acquire(&()));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes a lock half a million times")]
    fn a_share_is_acquired_again_when_it_can_be_counted() {
        let lock = full();
        thread::scope(|scope| {
            // SAFETY: there are no nodes.
            let again = scope.spawn(|| unsafe { lock.share_again(&()) });
            thread::sleep(Duration::from_millis(10));
            // SAFETY: one of the shares of `full`.
            unsafe { lock.release_shared(&()) };
            again.join().expect("it does not panic");
        });
        // SAFETY: as above.
        assert!(!unsafe { lock.acquire_shared_if_counted(&()) });
    }
}
