//! Hierarchical queue delegation (HQD): a [`Qd`] lock for each group of near processors, under a
//! global lock.
//!
//! A thread hands its section to a helper of its own group only. The helper holds the global lock
//! for its turn, so the groups take turns. The size of a group's queue bounds its turn. In a turn
//! neither the data nor the sections leave the group: on one machine, this saves traffic between
//! sockets; in distributed shared memory, it saves the invalidations and downgrades of all locks
//! but the global one.
//!
//! In Argo, the queue opens when its helper has the global lock. Here it opens earlier: the group's
//! threads can use no other queue, so they may put their sections into it while the helper waits.
//!
//! The sections of a thread run in the order of its calls while the thread stays in its group. If
//! the thread moves to another group, a detached section that it hasn't waited for may run after a
//! later one.
//!
//! When not to use it: with few threads, or on machines with one group.
//!
//! Source: Kaxiras et al., "Turning Centralized Coherence and Distributed Critical-Section
//! Execution on their Head" (Argo, HPDC'15), section 4.2.

use core::array;
use core::fmt;

use bytemuck::Zeroable;

use super::line::Line;
use super::qd::Qd;
use super::raw::RawDelegation;
use super::request::Request;
use crate::lock::{About, Algorithm, Described, Order, RawLock};
use crate::memory::{Memory, Native, Own, Padded};
use crate::wait::Park;

/// The hierarchical queue delegation lock, for up to `GROUPS` groups. With more groups, some share
/// a queue.
#[repr(C)]
pub struct Hqd<
    W: Line = Park,
    M: Memory = Native,
    G: RawLock<Memory = M> = <W as Line>::Lock<M>,
    const GROUPS: usize = 4,
    const SLOTS: usize = 64,
> {
    global: Padded<G>,
    groups: [Padded<Qd<W, M, SLOTS>>; GROUPS],
}

impl<W: Line, M: Memory, G: RawLock<Memory = M>, const GROUPS: usize, const SLOTS: usize> Default
    for Hqd<W, M, G, GROUPS, SLOTS>
{
    fn default() -> Self {
        Self { global: Padded::default(), groups: array::from_fn(|_| Padded::default()) }
    }
}

// SAFETY: locks and nothing else.
unsafe impl<W: Line, M: Memory, G: RawLock<Memory = M>, const GROUPS: usize, const SLOTS: usize>
    Zeroable for Hqd<W, M, G, GROUPS, SLOTS>
where
    G: Zeroable,
    Qd<W, M, SLOTS>: Zeroable,
{
}

impl<W: Line, M: Memory, G: RawLock<Memory = M>, const GROUPS: usize, const SLOTS: usize>
    Hqd<W, M, G, GROUPS, SLOTS>
{
    /// A lock under this global lock, which may be a handle of a lock that others share.
    pub fn under(global: G) -> Self {
        Self { global: Padded(global), groups: array::from_fn(|_| Padded::default()) }
    }

    /// Like [`Qd::enter`], at this thread's group; the turn is served under the global lock.
    #[inline]
    unsafe fn enter(&self, request: &Request<M>) -> bool {
        let group = &self.groups[M::group(0) % GROUPS];
        // SAFETY: our caller's promise. The node stays until the global lock is released, and
        // nothing unwinds before.
        unsafe {
            group.enter(request, |turn| {
                let node = Own::<G::Node, M>::default();
                self.global.acquire(&node);
                turn.serve();
                self.global.release(&node);
            })
        }
    }
}

// SAFETY: requests run while the global lock is held, by its holder; otherwise as for `Qd`.
unsafe impl<W: Line, M: Memory, G: RawLock<Memory = M>, const GROUPS: usize, const SLOTS: usize>
    RawDelegation for Hqd<W, M, G, GROUPS, SLOTS>
{
    type Memory = M;
    type Wait = W;

    #[inline]
    unsafe fn run(&self, request: &Request<M>) {
        // SAFETY: the request stays until we return.
        if unsafe { self.enter(request) } {
            request.wait::<W>();
        }
    }

    #[inline]
    unsafe fn submit(&self, request: &Request<M>) {
        // SAFETY: the request stays until it is completed; if it is not in a queue, it has run.
        unsafe {
            if !self.enter(request) {
                Request::<M>::complete::<W>(M::refer(request));
            }
        }
    }
}

impl<W: Line, M: Memory, G: RawLock<Memory = M>, const GROUPS: usize, const SLOTS: usize> Described
    for Hqd<W, M, G, GROUPS, SLOTS>
{
    const ABOUT: About = About {
        idea: "a queue delegation lock for each group of near processors, under a global lock",
        algorithm: Algorithm::Delegation,
        order: Order::Bounded,
        numa: true,
        advice: "short sections on contended data, from several sockets or machines",
        source: "Argo 4.2; Klaftenegger, Sagonas and Winblad 2014",
    };
}

impl<W: Line, M: Memory, G: RawLock<Memory = M>, const GROUPS: usize, const SLOTS: usize> fmt::Debug
    for Hqd<W, M, G, GROUPS, SLOTS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hqd").field("groups", &GROUPS).finish_non_exhaustive()
    }
}
