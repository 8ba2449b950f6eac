//! What a miss, a downgrade and each fence do, in order. A node performs these lists as they
//! stand, so that the order of a protocol step is data, which a reader compares with the paper and a
//! test changes.

/// A synchronization of the program, as the coherence sees it (sections 3.1 and 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// A lock is taken.
    Acquire,
    /// A lock is given back.
    Release,
    /// All nodes meet.
    Barrier,
    /// All nodes meet, and the classification begins anew (section 3.4, after initialisation).
    Reset,
}

/// A step of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceStep {
    /// Find what was written, and downgrade it.
    Downgrade,
    /// Wait until all that was put has arrived.
    Flush,
    /// Take the lock, give it back, or meet the others.
    Synchronize,
    /// Take in what other nodes have told.
    Notices,
    /// Drop lines that can't be kept; of these, what was written is downgraded first.
    Invalidate,
    /// Drop all lines, forget what is known of them, and empty the directory's part of this home.
    Forget,
}

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEvent {
    /// An access finds it missing.
    Miss,
    /// It was written, and what was written goes home.
    Downgrade,
}

/// A step of what happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineStep {
    /// Downgrade and drop the line that has its slot of the cache.
    MakeRoom,
    /// Deposit this node as a reader unless that is done, and tell the nodes that it concerns.
    Reader,
    /// Deposit this node as a writer unless that is done, and tell the nodes that it concerns.
    Writer,
    /// Wait until all that was put to the line's home has arrived, if anything was.
    Settle,
    /// Copy the line from its home.
    Fetch,
    /// Put the bytes that differ from the twin home.
    Diff,
    /// Make the present bytes the twin.
    Twin,
}

/// The steps of a fence.
pub fn fence(which: Fence) -> &'static [FenceStep] {
    use FenceStep::{Downgrade, Flush, Forget, Invalidate, Notices, Synchronize};
    match which {
        // The notices of everything that the release downgraded before it released the lock have
        // arrived as well. So they are read after the lock is taken, and before lines are chosen.
        Fence::Acquire => &[Synchronize, Notices, Invalidate],
        Fence::Release => &[Downgrade, Flush, Synchronize],
        Fence::Barrier => &[Downgrade, Flush, Synchronize, Notices, Invalidate],
        // No node deposits or tells between the two meetings; what was told before the first is
        // read, so that it is not taken for something newer.
        Fence::Reset => &[Downgrade, Flush, Synchronize, Notices, Forget, Synchronize],
    }
}

/// The steps of what happens to a line.
pub fn line(event: LineEvent) -> &'static [LineStep] {
    use LineStep::{Diff, Fetch, MakeRoom, Reader, Settle, Twin, Writer};
    match event {
        // Either order of deposit and fetch is sound (the node learns what the entry says before its
        // next acquire; `two_orders_do_not_matter`); this one stays so when nodes can leave an entry.
        LineEvent::Miss => &[MakeRoom, Reader, Settle, Fetch, Twin],
        // The writer is registered here and not at its first write: a node that has to see the
        // write acquires after this node's release, which waits for the notices.
        LineEvent::Downgrade => &[Writer, Diff, Twin],
    }
}
