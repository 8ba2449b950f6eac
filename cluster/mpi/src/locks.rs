//! The locks of a window as one rank uses them, whichever scheme they are of, and where a segment has
//! them.

use std::time::Duration;

/// Lines that processors fetch in pairs.
pub const LINE: usize = 128;
/// Where the window's word is.
pub const GLOBAL: usize = LINE;
/// Where the parts' locks begin.
pub const LOCKS: usize = 2 * LINE;
/// In a part's line, behind its lock: whether an owner of it has died.
pub const ORPHANED: usize = 64;

/// Why a part was not acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The scheme knows no deadlines.
    Unsupported,
    /// The part's rank has died, or can't be reached any more.
    Gone,
}

/// The locks of a window, as one rank uses them.
pub trait Locks: Send + Sync {
    /// Waits for a rank's part, and takes or shares it. Has Acquire ordering.
    ///
    /// # Safety
    ///
    /// The rank neither holds nor waits for this part, and there is a rank of this number.
    unsafe fn acquire(&self, target: usize, exclusive: bool) -> Result<(), Refusal>;

    /// Like [`acquire`](Self::acquire), but waits at most until the deadline on the segment's
    /// clock. Returns whether the lock was taken.
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

    /// Gives a rank's part back. Has Release ordering.
    ///
    /// # Safety
    ///
    /// The rank holds this part in this way.
    unsafe fn release(&self, target: usize, exclusive: bool);

    /// Waits until nobody holds a part alone, and shares all. Has Acquire ordering.
    fn acquire_all(&self);

    /// [`acquire_all`](Self::acquire_all) if that is possible at once. Whether it was.
    fn try_acquire_all(&self) -> Result<bool, Refusal>;

    /// Gives up the share of all parts. Has Release ordering. If it is not held, the locks keep
    /// nobody apart any more.
    fn release_all(&self);

    /// Whether an owner of the part has died, and nobody has made it consistent since.
    fn is_orphaned(&self, target: usize) -> bool;

    /// Notes that an owner of the part has died. The part is held in its name.
    fn orphan(&self, target: usize);

    /// Says that what the part protects is as it should be. The rank holds the part.
    fn make_consistent(&self, target: usize);
}
