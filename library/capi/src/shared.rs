//! A reader-writer lock for C. A writer holds it like any lock; a reader's share is on the thread's
//! list of [`shares`](crate::shares).
//!
//! A thread holds such a lock at most once at a time. With most locks a nested share would deadlock
//! if a writer began to wait in between, so a nested share is always refused.

use std::ptr;
use std::time::Duration;

use syncline::Condvar;
use syncline::lock::{RawSharedLock, TimedSharedLock, TrySharedLock};
use syncline::memory::{Memory, Native};

use crate::boundary::{Outcome, Refusal};
use crate::calls::{Lock, Share, Timed, TimedShare, Try, TryShare, Unused};
use crate::exclusive::{Exclusive, OwnNode};
use crate::shares;

/// A lock `L`, which counts its users if it can't be tried.
#[repr(transparent)]
pub(crate) struct Shared<L: RawSharedLock, const COUNTED: bool>(Exclusive<L, COUNTED>);

impl<L: RawSharedLock<Memory = Native>, const COUNTED: bool> Lock for Shared<L, COUNTED>
where
    Exclusive<L, COUNTED>: Unused,
{
    fn new() -> Self {
        Self(Exclusive::new())
    }

    fn lock(&self) -> Outcome {
        self.expect_no_share()?;
        self.0.lock()
    }

    fn unlock(&self) -> Outcome {
        if self.0.is_mine() {
            return self.0.unlock();
        }
        let node = shares::remove(self.address()).ok_or(Refusal::NotHolder)?;
        // SAFETY: `note` has stored it.
        let own = unsafe { OwnNode::<L::SharedNode>::from_raw(node.cast()) };
        if COUNTED {
            self.0.leave();
        }
        // SAFETY: this thread shares the lock with this node.
        unsafe { self.0.lock.release_shared(own.node()) };
        Ok(())
    }

    fn wait(&self, cond: &Condvar, deadline: Option<Duration>) -> Outcome {
        self.0.wait(cond, deadline)
    }
}

impl<L: RawSharedLock<Memory = Native>> Share for Shared<L, true> {
    fn share(&self) -> Outcome {
        let own = self.begin()?;
        // SAFETY: the node stays in place until `unlock` releases it.
        unsafe { self.0.lock.acquire_shared(own.node()) };
        self.note(own);
        Ok(())
    }
}

impl<L: TrySharedLock<Memory = Native>> Share for Shared<L, false> {
    fn share(&self) -> Outcome {
        let own = self.begin()?;
        // SAFETY: the node stays in place until `unlock` releases it; if it fails, the node is
        // free.
        if !unsafe { self.0.lock.acquire_shared_if_counted(own.node()) } {
            return Err(Refusal::NotNow);
        }
        self.note(own);
        Ok(())
    }
}

impl<L: RawSharedLock<Memory = Native>, const COUNTED: bool> Shared<L, COUNTED> {
    fn address(&self) -> *const () {
        ptr::from_ref(self).cast()
    }

    fn expect_no_share(&self) -> Outcome {
        if shares::has(self.address()) { Err(Refusal::Deadlock) } else { Ok(()) }
    }

    /// Begins a shared acquisition.
    fn begin(&self) -> Result<OwnNode<L::SharedNode>, Refusal> {
        if self.0.is_mine() {
            return Err(Refusal::Deadlock);
        }
        self.expect_no_share()?;
        if COUNTED {
            self.0.enter();
        }
        Ok(OwnNode::new())
    }

    /// Records a shared acquisition.
    fn note(&self, own: OwnNode<L::SharedNode>) {
        shares::add(self.address(), own.into_raw().cast());
    }
}

impl<L: TrySharedLock<Memory = Native>> Try for Shared<L, false> {
    fn try_lock(&self) -> Outcome {
        self.0.try_lock()
    }
}

impl<L: TrySharedLock<Memory = Native>> TryShare for Shared<L, false> {
    fn try_share(&self) -> Outcome {
        // A second share could be granted at once, but could not be distinguished from the first.
        if shares::has(self.address()) {
            return Err(Refusal::Busy);
        }
        let own = OwnNode::new();
        // SAFETY: as in `share`; if it fails, the node is free.
        if !unsafe { self.0.lock.try_acquire_shared(own.node()) } {
            return Err(Refusal::Busy);
        }
        self.note(own);
        Ok(())
    }
}

impl<L: TimedSharedLock<Memory = Native>> Timed for Shared<L, false> {
    fn lock_until(&self, deadline: Duration) -> Outcome {
        self.expect_no_share()?;
        self.0.lock_until(deadline)
    }
}

impl<L: TimedSharedLock<Memory = Native>> TimedShare for Shared<L, false> {
    fn share_until(&self, deadline: Duration) -> Outcome {
        let own = self.begin()?;
        // SAFETY: as in `share`; if it fails, the node is free.
        if !unsafe { self.0.lock.acquire_shared_until(own.node(), deadline) } {
            // Before the deadline only a lock that can't count one more reader refuses.
            let early = Native::now() < deadline;
            return Err(if early { Refusal::NotNow } else { Refusal::TimedOut });
        }
        self.note(own);
        Ok(())
    }
}

impl<L: RawSharedLock<Memory = Native>, const COUNTED: bool> Unused for Shared<L, COUNTED>
where
    Exclusive<L, COUNTED>: Unused,
{
    fn expect_unused(&self) -> Outcome {
        self.0.expect_unused()
    }
}

#[cfg(test)]
mod tests {
    use syncline::lock::CompactRw;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it shares a lock half a million times")]
    fn a_reader_that_cannot_be_counted_is_refused() {
        let shared = Shared::<CompactRw, false>::new();
        let lock = &shared.0.lock;
        let mut others = 0;
        // SAFETY: there are no nodes.
        while unsafe { lock.try_acquire_shared(&()) } {
            others += 1;
        }
        assert_eq!(others, (1 << 19) - 1);
        assert_eq!(shared.share(), Err(Refusal::NotNow));
        assert_eq!(shared.share_until(Duration::MAX), Err(Refusal::NotNow));
        assert_eq!(shared.unlock(), Err(Refusal::NotHolder));
        // SAFETY: one of the shares from above.
        unsafe { lock.release_shared(&()) };
        assert_eq!(shared.share(), Ok(()));
        assert_eq!(shared.unlock(), Ok(()));
    }
}
