//! The locks of a window as one rank uses them, under any scheme, and their positions in a segment.

use std::time::Duration;

/// Size of a pair of lines, which processors fetch together.
pub const LINE: usize = 128;
/// Offset of the window's word.
pub const GLOBAL: usize = LINE;
/// Offset of the first part's lock.
pub const LOCKS: usize = 2 * LINE;
/// Offset of the word behind a part's lock that says whether an owner has died.
pub const ORPHANED: usize = 64;

/// Why a part was not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scheme has no deadlines.
    Unsupported,
    /// The part's rank has died, can't be reached any more, or does not know the window.
    Gone,
}

/// The locks of a window, as one rank uses them.
pub trait Locks: Send + Sync {
    /// Waits for a rank's part, and acquires it exclusively or shared. Has Acquire ordering.
    ///
    /// # Safety
    ///
    /// The rank neither holds nor waits for this part, and `target` is a rank.
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal>;

    /// Like [`acquire`](Self::acquire), but waits at most until the deadline on the segment's
    /// clock. Returns whether the lock was acquired.
    ///
    /// # Safety
    ///
    /// Same requirements as [`acquire`](Self::acquire).
    unsafe fn acquire_until(
        &self,
        _target: usize,
        _exclusive: bool,
        _deadline: Duration,
    ) -> Result<bool, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// Releases a rank's part. Has Release ordering.
    ///
    /// # Safety
    ///
    /// The rank holds this part in this mode.
    unsafe fn release(&self, target: usize, exclusive: bool);

    /// Waits until no rank holds any part exclusively, and shares all parts. Has Acquire ordering.
    /// If it fails, nothing is held.
    fn acquire_all(&self) -> Result<(), Refusal>;

    /// Like [`acquire_all`](Self::acquire_all), but does not wait. Returns whether the parts were
    /// acquired.
    fn try_acquire_all(&self) -> Result<bool, Refusal>;

    /// Releases the share of all parts. Has Release ordering. If a rank calls this without the
    /// share, the locks don't exclude other ranks any more.
    fn release_all(&self);

    /// Whether an owner of the part has died, and no rank has made it consistent since.
    fn is_orphaned(&self, target: usize) -> bool;

    /// Records that an owner of the part has died. The part is still held in that owner's name.
    fn orphan(&self, target: usize);

    /// Declares that what the part's lock protects is consistent again. The rank holds the part.
    fn make_consistent(&self, target: usize);
}
