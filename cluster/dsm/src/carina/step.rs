//! What a miss, a downgrade and each fence do, in order. A node performs these lists as they stand.
//! So the order of a protocol's steps is data, which a reader can compare with the paper and a test
//! can change.

/// A synchronization of the program, as the protocol sees it (sections 3.1 and 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fence {
    /// A lock is acquired.
    Acquire,
    /// A lock is released.
    Release,
    /// All nodes meet at a barrier.
    Barrier,
    /// All nodes meet, and the classification begins again (section 3.4, after initialisation).
    Reset,
}

/// A step of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceStep {
    /// Find written pages, and downgrade them.
    Downgrade,
    /// Wait until all puts have arrived.
    Flush,
    /// Acquire the lock, release it, or meet the other nodes.
    Synchronize,
    /// Take in the notices of other nodes.
    Notices,
    /// Drop lines that can't be kept, after a downgrade of their written pages.
    Invalidate,
    /// Drop all lines, forget what is known about them, and empty this home's part of the
    /// directory.
    Forget,
}

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEvent {
    /// An access finds it missing.
    Miss,
    /// It has written pages, whose changes go home.
    Downgrade,
}

/// A step of what happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineStep {
    /// Downgrade and drop the line that occupies the slot.
    MakeRoom,
    /// Deposit this node as a reader unless that is done, and send the notices.
    Reader,
    /// Deposit this node as a writer unless that is done, and send the notices.
    Writer,
    /// Wait until all puts to the line's home have arrived, if there were any.
    Settle,
    /// Copy the line from its home.
    Fetch,
    /// Put the bytes that differ from the twin to the line's home.
    Diff,
    /// Make the present bytes the twin.
    Twin,
}

/// The steps of a fence.
pub fn fence(which: Fence) -> &'static [FenceStep] {
    use FenceStep::{Downgrade, Flush, Forget, Invalidate, Notices, Synchronize};
    match which {
        // When a lock is released, the notices for everything that the release downgraded have
        // arrived. So notices are read after the lock is acquired, and before lines are chosen.
        Fence::Acquire => &[Synchronize, Notices, Invalidate],
        Fence::Release => &[Downgrade, Flush, Synchronize],
        Fence::Barrier => &[Downgrade, Flush, Synchronize, Notices, Invalidate],
        // No node deposits or sends notices between the two meetings. Notices from before the first
        // one are read here, so that they are not mistaken for later ones.
        Fence::Reset => &[Downgrade, Flush, Synchronize, Notices, Forget, Synchronize],
    }
}

/// The steps of what happens to a line.
pub fn line(event: LineEvent) -> &'static [LineStep] {
    use LineStep::{Diff, Fetch, MakeRoom, Reader, Settle, Twin, Writer};
    match event {
        // Either order of deposit and fetch is sound: the node learns what the entry says before
        // its next acquire (`two_orders_do_not_matter`). This order stays sound if nodes can one
        // day leave an entry.
        LineEvent::Miss => &[MakeRoom, Reader, Settle, Fetch, Twin],
        // The writer is registered here and not at its first write. A node that has to see the
        // write acquires after this node's release, which waits for the notices.
        LineEvent::Downgrade => &[Writer, Diff, Twin],
    }
}
