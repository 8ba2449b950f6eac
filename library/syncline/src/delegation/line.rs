//! The lock for threads that have to run their sections themselves.
//!
//! If waiters sleep, the lock stands behind a [gate](crate::lock::Gate), for the same reason as any
//! queue lock. Here a hand-over to a sleeper costs even more: until the sleeper runs again, all
//! other threads delegate to it, and then sleep as well.

use crate::lock::{Contended, Gate, Mcs, RawLock, TryLock};
use crate::memory::Memory;
use crate::wait::{Park, Spin, Wait, Yield};

/// A waiting policy with its lock.
pub trait Line: Wait {
    /// The lock.
    type Lock<M: Memory>: TryLock<Memory = M>;

    /// Whether a thread waits in line and will get the lock before any newcomer.
    ///
    /// # Safety
    ///
    /// The lock is held, and was acquired with this node.
    unsafe fn is_promised<M: Memory>(lock: &Self::Lock<M>, node: &NodeOf<Self, M>) -> bool;
}

/// The node with which the policy's lock is acquired.
pub type NodeOf<W, M> = <<W as Line>::Lock<M> as RawLock>::Node;

impl Line for Spin {
    type Lock<M: Memory> = Mcs<Spin, M>;

    #[inline]
    unsafe fn is_promised<M: Memory>(lock: &Mcs<Spin, M>, node: &NodeOf<Self, M>) -> bool {
        // SAFETY: our caller's promise.
        unsafe { lock.is_contended(node) }
    }
}

impl Line for Yield {
    type Lock<M: Memory> = Mcs<Yield, M>;

    #[inline]
    unsafe fn is_promised<M: Memory>(lock: &Mcs<Yield, M>, node: &NodeOf<Self, M>) -> bool {
        // SAFETY: our caller's promise.
        unsafe { lock.is_contended(node) }
    }
}

impl Line for Park {
    type Lock<M: Memory> = Gate<Mcs<Park, M>>;

    #[inline]
    unsafe fn is_promised<M: Memory>(_: &Gate<Mcs<Park, M>>, (): &()) -> bool {
        false
    }
}
