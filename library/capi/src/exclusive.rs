//! A lock that one thread holds at a time, for C: with its owner, and with the owner's queue node.
//! All zero bytes are a free lock.
//!
//! The owner is recorded while the lock is held. A thread that asks whether it is the owner gets an
//! exact answer, and `lock` and `unlock` ask no more. Whether *any* thread uses the lock matters
//! when the lock is destroyed, and is determined by trying to acquire the lock. A lock that can't
//! be tried counts its users instead, which costs two more writes per acquisition.

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
    /// How many threads wait for a condition and will acquire the lock again; if `COUNTED`, how
    /// many threads use the lock.
    users: AtomicU32,
    owner: Owner,
    /// The owner's node.
    node: AtomicPtr<L::Node>,
}

/// A node of an acquisition at a fixed address; it is leaked if the lock is never released.
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

    /// Gives up ownership of the node, which stays where it is.
    #[inline]
    pub(crate) fn into_raw(self) -> *mut N {
        let node = self.0;
        forget(self);
        node.as_ptr()
    }

    /// Takes back a node that [`into_raw`](Self::into_raw) has given up.
    ///
    /// # Safety
    ///
    /// The pointer comes from [`into_raw`](Self::into_raw), and is taken back once.
    #[inline]
    pub(crate) unsafe fn from_raw(node: *mut N) -> Self {
        // SAFETY: `into_raw` never returns null.
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
        // SAFETY: the node stays in place until `unlock` releases it.
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
        // SAFETY: this thread has acquired the lock with this node, and holds it with the same node
        // afterwards.
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

    /// Counts another user of the lock. Relaxed, as in `leave`: only the thread that destroys the
    /// lock reads the count. That thread must know by other means that the lock is no longer used;
    /// otherwise destroying it would be a mistake.
    #[inline]
    pub(crate) fn enter(&self) {
        self.users.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.users.fetch_sub(1, Relaxed);
    }

    /// Begins an acquisition by this thread, whose number it returns.
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

    /// Records an acquisition.
    #[inline]
    fn hold(&self, thread: usize, own: OwnNode<L::Node>) {
        self.owner.set(thread);
        // Relaxed: only this thread reads it.
        self.node.store(own.into_raw(), Relaxed);
    }

    /// Checks that this thread may release the lock, and takes its node.
    #[inline]
    fn let_go(&self) -> Result<OwnNode<L::Node>, Refusal> {
        if !self.is_mine() {
            return Err(Refusal::NotHolder);
        }
        self.owner.clear();
        // SAFETY: this thread has stored the node, and takes it once. Relaxed: as above.
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
