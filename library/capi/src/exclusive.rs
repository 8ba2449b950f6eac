//! A lock that one thread holds at a time, as C sees it: with its owner, and with the node that
//! the owner has acquired it with. All zero is a free lock.
//!
//! The owner is noted while the lock is held, so it is exact for the thread that asks about
//! itself; that is all that `lock` and `unlock` need. Whether the lock is in use by *anybody*
//! matters when it is destroyed. It is found out by taking it. A lock that can't be tried counts
//! its users instead, which costs two more writes for each acquisition.

use std::mem::forget;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use syncline::Condvar;
use syncline::lock::{RawLock, TimedLock, TryLock};
use syncline::memory::{Memory, Native};

use crate::boundary::{Outcome, Refusal};
use crate::calls::{Lock, Timed, Try, Unused};
use crate::owner::{Owner, this_thread};

/// A lock `L`, which counts its users if it can't be tried.
#[repr(C)]
pub(crate) struct Exclusive<L: RawLock, const COUNTED: bool> {
    pub(crate) lock: L,
    /// How many wait for a condition and will want the lock again; if `COUNTED`, all threads that
    /// use it.
    users: AtomicU32,
    owner: Owner,
    /// The owner's node.
    node: AtomicPtr<L::Node>,
}

/// A node of an acquisition, which stays where it is; it is leaked when the lock is forgotten.
pub(crate) struct OwnNode<N: Default>(NonNull<N>);

impl<N: Default> OwnNode<N> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self(if size_of::<N>() == 0 { NonNull::dangling() } else { Native::allocate() })
    }

    #[inline]
    pub(crate) fn node(&self) -> &N {
        // SAFETY: it lives until this is dropped, or has no size.
        unsafe { self.0.as_ref() }
    }

    /// Leaves the node in place.
    #[inline]
    pub(crate) fn into_raw(self) -> *mut N {
        let node = self.0;
        forget(self);
        node.as_ptr()
    }

    /// The node that was left in place.
    ///
    /// # Safety
    ///
    /// It comes from [`into_raw`](Self::into_raw), once.
    #[inline]
    pub(crate) unsafe fn from_raw(node: *mut N) -> Self {
        // SAFETY: `into_raw` returned what was not null.
        Self(unsafe { NonNull::new_unchecked(node) })
    }
}

impl<N: Default> Drop for OwnNode<N> {
    #[inline]
    fn drop(&mut self) {
        if size_of::<N>() != 0 {
            // SAFETY: it was allocated in `new`, and the last thread that uses it has released the
            // lock.
            unsafe { Native::free(self.0) }
        }
    }
}

impl<L: RawLock<Memory = Native>, const COUNTED: bool> Lock for Exclusive<L, COUNTED>
where
    Self: Unused,
{
    fn new() -> Self {
        Self {
            lock: L::default(),
            users: AtomicU32::new(0),
            owner: Owner::default(),
            node: AtomicPtr::new(ptr::null_mut()),
        }
    }

    #[inline]
    fn lock(&self) -> Outcome {
        let thread = self.begin()?;
        let own = OwnNode::new();
        // SAFETY: the node stays in place until `unlock` has released it.
        unsafe { self.lock.acquire(own.node()) };
        self.hold(thread, own);
        Ok(())
    }

    #[inline]
    fn unlock(&self) -> Outcome {
        let own = self.let_go()?;
        if COUNTED {
            self.leave();
        }
        // SAFETY: this thread has acquired the lock with this node.
        unsafe { self.lock.release(own.node()) };
        Ok(())
    }

    fn wait(&self, cond: &Condvar, deadline: Option<Duration>) -> Outcome {
        let own = self.let_go()?;
        self.enter();
        // SAFETY: this thread has acquired the lock with this node, and gets it back so.
        let waited = unsafe { cond.wait_raw(&self.lock, own.node(), deadline) };
        self.leave();
        self.hold(this_thread(), own);
        if waited.timed_out() { Err(Refusal::TimedOut) } else { Ok(()) }
    }
}

impl<L: RawLock<Memory = Native>, const COUNTED: bool> Exclusive<L, COUNTED> {
    /// Whether this thread holds the lock.
    #[inline]
    pub(crate) fn is_mine(&self) -> bool {
        self.owner.is(this_thread())
    }

    /// One more uses the lock. Relaxed, as in `leave`: only the thread that destroys the lock reads
    /// it. That thread must know from elsewhere that the lock is used no more, or destroying it
    /// would be a mistake.
    #[inline]
    pub(crate) fn enter(&self) {
        self.users.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.users.fetch_sub(1, Relaxed);
    }

    /// What comes before each acquisition by this thread, whose number it returns.
    #[inline]
    fn begin(&self) -> Result<usize, Refusal> {
        let thread = this_thread();
        if self.owner.is(thread) {
            return Err(Refusal::Deadlock);
        }
        if COUNTED {
            self.enter();
        }
        Ok(thread)
    }

    /// What follows an acquisition.
    #[inline]
    fn hold(&self, thread: usize, own: OwnNode<L::Node>) {
        self.owner.set(thread);
        // Relaxed: only this thread reads it.
        self.node.store(own.into_raw(), Relaxed);
    }

    /// What comes before a release.
    #[inline]
    fn let_go(&self) -> Result<OwnNode<L::Node>, Refusal> {
        if !self.is_mine() {
            return Err(Refusal::NotHolder);
        }
        self.owner.clear();
        // SAFETY: this thread has left it there, and takes it once. Relaxed: as above.
        Ok(unsafe { OwnNode::from_raw(self.node.load(Relaxed)) })
    }

    fn expect_no_users(&self) -> Outcome {
        // Relaxed: see `enter`.
        if self.owner.is_somebody() || self.users.load(Relaxed) != 0 {
            return Err(Refusal::Busy);
        }
        Ok(())
    }
}

impl<L: TryLock<Memory = Native>> Try for Exclusive<L, false> {
    #[inline]
    fn try_lock(&self) -> Outcome {
        let own = OwnNode::new();
        // SAFETY: as in `lock`; if it fails, the node is free.
        if !unsafe { self.lock.try_acquire(own.node()) } {
            return Err(Refusal::Busy);
        }
        self.hold(this_thread(), own);
        Ok(())
    }
}

impl<L: TimedLock<Memory = Native>> Timed for Exclusive<L, false> {
    fn lock_until(&self, deadline: Duration) -> Outcome {
        let thread = self.begin()?;
        let own = OwnNode::new();
        // SAFETY: as in `lock`; if it fails, the node is free.
        if !unsafe { self.lock.acquire_until(own.node(), deadline) } {
            return Err(Refusal::TimedOut);
        }
        self.hold(thread, own);
        Ok(())
    }
}

impl<L: RawLock<Memory = Native>> Unused for Exclusive<L, true> {
    fn expect_unused(&self) -> Outcome {
        self.expect_no_users()
    }
}

impl<L: TryLock<Memory = Native>> Unused for Exclusive<L, false> {
    fn expect_unused(&self) -> Outcome {
        self.expect_no_users()?;
        self.try_lock()?;
        self.unlock()
    }
}
