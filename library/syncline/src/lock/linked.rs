//! Waits for a thread that has swapped its node into a queue, and is about to link its node behind
//! the node before.
//!
//! In queues like that of MCS, a newcomer first exchanges the tail, and then writes the link. A
//! thread that leaves in between finds that its node is not the last one, and that no node is
//! linked behind its own yet.

use core::sync::atomic::Ordering::Acquire;

use crate::memory::{Link, Memory};
use crate::wait::Wait;

/// Waits for the node that is about to be linked here, and returns it.
#[cold]
pub fn linked<W: Wait, M: Memory, T>(link: &M::Link<T>) -> M::Ref<T> {
    let mut looks = 1;
    loop {
        W::pause_at::<M, _>(link, looks);
        // Acquire: pairs with the Release store by which the newcomer links its node.
        if let Some(next) = link.load(Acquire) {
            return next;
        }
        looks += 1;
    }
}
