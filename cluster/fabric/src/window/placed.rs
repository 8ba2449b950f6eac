//! Locks, and other objects made of a window's words, at positions in a part.

use std::any::type_name;

use bytemuck::Zeroable;
use syncline::lock::RawLock;

use super::memory::Window;
use super::region::Region;
use crate::fabric::Position;
use crate::here::Here;

impl Region {
    /// The lock at a position. It is free if the bytes there are zero. It needs `size_of::<L>()`
    /// bytes.
    ///
    /// # Safety
    ///
    /// The bytes there were zero before any rank used the lock first, and are reserved for this
    /// lock while it is used. It is used by ranks that have entered a fabric `F` whose part
    /// contains them. Data in the lock and its nodes has no padding.
    ///
    /// # Panics
    ///
    /// If the displacement is not a multiple of the lock's alignment; if the lock does not lie in
    /// the first 4 GiB of the part; if the rank is 16,384 or more.
    pub unsafe fn lock<'a, F: Here, L: RawLock<Memory = Window<F>> + Zeroable + 'a>(
        place: Position,
    ) -> &'a L {
        // SAFETY: our caller's promise.
        unsafe { Region::value(place) }
    }

    /// Any other object made of words, links and data of [`Window`], at a position.
    ///
    /// # Safety
    ///
    /// Same requirements as [`lock`](Self::lock), and the type consists of such words, links and
    /// data only.
    ///
    /// # Panics
    ///
    /// Same panics as [`lock`](Self::lock).
    pub unsafe fn value<'a, T: Zeroable + 'a>(place: Position) -> &'a T {
        let at = Region::address::<T>(place);
        assert!(at.is_aligned(), "{place:?} is no place for a {}", type_name::<T>());
        // SAFETY: all of it is words, links and data, which promise the compiler no bytes at this
        // address, and are accessed only by functions.
        unsafe { &*at }
    }
}
