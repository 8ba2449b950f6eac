//! What a node does at a miss, at a downgrade and at each fence, as lists of steps. A node performs
//! the lists as they are. So the order of the protocol's steps is data: a reader can compare it
//! with the paper, and a test can change it.

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
    /// Find the pages that were written, and downgrade them: send their changes home.
    Downgrade,
    /// Wait until everything that this node has put has arrived, at all homes.
    Flush,
    /// Synchronize with other nodes: acquire the lock, release it, or meet all nodes.
    Synchronize,
    /// Take in the notices of other nodes.
    Notices,
    /// Drop the lines that can't be kept. Written pages among them are downgraded first.
    Invalidate,
    /// Drop all lines, forget what is known about them, and empty this home's part of the
    /// directory.
    Forget,
}

/// An event of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEvent {
    /// An access finds the line missing.
    Miss,
    /// A page of the line was written, and the page's changes go home.
    Downgrade,
}

/// A step of a line's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineStep {
    /// If the cache has no free slot for the line, downgrade another line and drop it.
    MakeRoom,
    /// Deposit this node as a reader and send the notices, unless this node has done so before.
    Reader,
    /// Deposit this node as a writer and send the notices, unless this node has done so before.
    Writer,
    /// If this node has put anything to the line's home, wait until it has arrived.
    Settle,
    /// Copy the line from its home.
    Fetch,
    /// Put the bytes that differ from the twin to the line's home.
    Diff,
    /// Make the page's present bytes its twin.
    Twin,
}

/// The steps of a fence.
pub fn fence(which: Fence) -> &'static [FenceStep] {
    use FenceStep::{Downgrade, Flush, Forget, Invalidate, Notices, Synchronize};
    match which {
        // A release of a lock ends only when the notices of everything that it downgraded have
        // arrived. So the next holder reads its notices after it has acquired the lock, and before
        // it chooses the lines to drop.
        Fence::Acquire => &[Synchronize, Notices, Invalidate],
        Fence::Release => &[Downgrade, Flush, Synchronize],
        Fence::Barrier => &[Downgrade, Flush, Synchronize, Notices, Invalidate],
        // No node deposits itself or sends notices between the two meetings. Notices from before
        // the first meeting are taken in here, so that they are not mistaken for later ones.
        Fence::Reset => &[Downgrade, Flush, Synchronize, Notices, Forget, Synchronize],
    }
}

/// The steps of a line's event.
pub fn line(event: LineEvent) -> &'static [LineStep] {
    use LineStep::{Diff, Fetch, MakeRoom, Reader, Settle, Twin, Writer};
    match event {
        // The deposit could also come after the fetch: in both orders, the node learns what the
        // entry says before its next acquire (the test
        // `fetching_or_diffing_before_the_deposit_is_coherent`). The order chosen here would stay
        // sound if nodes could also leave an entry. A node may make the deposit and the fetch in one
        // round trip, if they follow each other.
        LineEvent::Miss => &[MakeRoom, Settle, Reader, Fetch, Twin],
        // A node is deposited as a writer here and not at its first write. That is early enough: a
        // node that has to see the write acquires only after this node's release, and the release
        // waits for the notices.
        LineEvent::Downgrade => &[Writer, Diff, Twin],
    }
}
