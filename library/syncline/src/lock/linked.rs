//! Waiting for the thread that has swapped a node into a queue, and is about to link it behind the
//! one before.
//!
//! In the queues that are like MCS's the tail is exchanged first and the link written after it. A
//! thread that leaves finds, in between, that it is not the last, but that no node is behind it
//! yet.

use core::sync::atomic::Ordering::Acquire;

use crate::memory::{Link, Memory};
use crate::wait::Wait;

/// The node that is about to be linked here.
#[cold]
pub fn linked<W: Wait, M: Memory, T>(link: &M::Link<T>) -> M::Ref<T> {
    let mut looks = 1;
    loop {
        W::pause_at::<M, _>(link, looks);
        // Acquire: pairs with the Release by which the node is linked.
        if let Some(next) = link.load(Acquire) {
            return next;
        }
        looks += 1;
    }
}
