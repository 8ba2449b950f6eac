//! Nodes that are never reused while an execution runs, so that following a reference to a dead
//! node is reported.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::HashMap;
use std::ptr::NonNull;

/// The number of slots of a table's bucket: more than one, but so few that chained buckets,
/// splitting and growth are reached with a handful of keys.
pub(super) const SLOTS: usize = 2;

/// The nodes of one execution, by address.
#[derive(Default)]
pub(super) struct Nodes(HashMap<usize, Node>);

struct Node {
    place: NonNull<u8>,
    layout: Layout,
    alive: bool,
}

impl Nodes {
    /// Allocates a node at an address never used before in this execution.
    pub(super) fn place<T>(&mut self) -> NonNull<T> {
        // With the `u64`, even a node without fields has a size, and so an address of its own.
        self.place_for(Layout::new::<(T, u64)>().pad_to_align()).cast()
    }

    /// Allocates memory of this layout, at an address never used before.
    pub(super) fn place_for(&mut self, layout: Layout) -> NonNull<u8> {
        // SAFETY: the size is not zero.
        let place = NonNull::new(unsafe { alloc(layout) });
        let place = place.unwrap_or_else(|| handle_alloc_error(layout));
        self.0.insert(place.addr().get(), Node { place, layout, alive: true });
        place
    }

    /// Whether a node may be followed: it is alive, or is not from this pool.
    pub(super) fn may_be_followed(&self, node: NonNull<()>) -> bool {
        self.0.get(&node.addr().get()).is_none_or(|node| node.alive)
    }

    /// Marks a node as dead; its memory stays allocated.
    pub(super) fn kill(&mut self, node: NonNull<()>) {
        let node = self.0.get_mut(&node.addr().get()).expect("a node that was allocated is freed");
        assert!(node.alive, "a node was freed twice");
        node.alive = false;
    }

    /// The number of nodes that were not freed.
    pub(super) fn alive(&self) -> usize {
        self.0.values().filter(|node| node.alive).count()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in self.0.values() {
            // SAFETY: allocated with this layout in `place_for`, and the execution is over.
            unsafe { dealloc(node.place.as_ptr(), node.layout) };
        }
    }
}
