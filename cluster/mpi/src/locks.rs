//! The locks of a window, for one rank and under any scheme, and their positions in a segment.

use std::time::Duration;

/// The size of two cache lines, which processors fetch together.
pub const LINE: usize = 128;
/// The offset of the window's word, which the lock of all parts uses.
pub const GLOBAL: usize = LINE;
/// The offset of the lock of the first part.
pub const LOCKS: usize = 2 * LINE;
/// The offset, from a part's lock, of the word that says whether an owner has died.
pub const ORPHANED: usize = 64;

/// Why a part was not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scheme does not support deadlines.
    Unsupported,
    /// The part's rank has died, can't be reached any more, or does not know the window.
    Gone,
}

/// The locks of a window, for one rank.
pub trait Locks: Send + Sync {
    /// Waits for the lock of a rank's part, and acquires it exclusively or shared. Has Acquire
    /// ordering.
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
    /// The caller promises what [`acquire`](Self::acquire) requires.
    unsafe fn acquire_until(
        &self,
        _target: usize,
        _exclusive: bool,
        _deadline: Duration,
    ) -> Result<bool, Refusal> {
        Err(Refusal::Unsupported)
    }

    /// Releases the lock of a rank's part. Has Release ordering.
    ///
    /// # Safety
    ///
    /// The rank holds this part in this mode.
    unsafe fn release(&self, target: usize, exclusive: bool);

    /// Shares all parts, and waits until no rank holds any part exclusively. Has Acquire ordering.
    /// If this fails, the rank holds nothing.
    fn acquire_all(&self) -> Result<(), Refusal>;

    /// Like [`acquire_all`](Self::acquire_all), but does not wait. Returns whether all parts are
    /// shared now.
    fn try_acquire_all(&self) -> Result<bool, Refusal>;

    /// Ends the sharing of all parts. Has Release ordering. If a rank calls this without having
    /// shared them, the locks no longer exclude other ranks.
    fn release_all(&self);

    /// Whether an owner of the part has died, and no rank has called `make_consistent` for it
    /// since.
    fn is_orphaned(&self, target: usize) -> bool;

    /// Records that an owner of the part has died. The part must still be held in that owner's
    /// name.
    fn orphan(&self, target: usize);

    /// Declares that the data under the part's lock is consistent again. The rank must hold the
    /// part.
    fn make_consistent(&self, target: usize);
}
