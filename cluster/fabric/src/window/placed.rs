//! Locks and other objects that consist of a window's words, at positions in a part.

use std::any::type_name;

use bytemuck::Zeroable;
use syncline::lock::RawLock;

use super::memory::Window;
use super::region::Region;
use crate::fabric::Position;
use crate::here::Here;

impl Region {
    /// The lock at this position, which occupies `size_of::<L>()` bytes. The lock is free if these
    /// bytes are zero.
    ///
    /// # Safety
    ///
    /// The bytes there were zero before the first use of the lock by any rank, and no other object
    /// uses them as long as the lock is used. All ranks that use it have entered a fabric `F` whose
    /// part contains these bytes. Data in the lock and in its nodes has no padding.
    ///
    /// # Panics
    ///
    /// If the offset is not a multiple of the lock's alignment. If the lock is not within the first
    /// 4 GiB of the part. If the rank is 16,384 or more.
    pub unsafe fn lock<'a, F: Here, L: RawLock<Memory = Window<F>> + Zeroable + 'a>(
        place: Position,
    ) -> &'a L {
        // SAFETY: our caller's promise.
        unsafe { Region::value(place) }
    }

    /// Another object that consists of words, links and data of [`Window`], at this position.
    ///
    /// # Safety
    ///
    /// Same requirements as [`lock`](Self::lock). The type consists only of such words, links and
    /// data.
    ///
    /// # Panics
    ///
    /// In the same cases as [`lock`](Self::lock).
    pub unsafe fn value<'a, T: Zeroable + 'a>(place: Position) -> &'a T {
        let at = Region::address::<T>(place);
        assert!(at.is_aligned(), "{place:?} is no place for a {}", type_name::<T>());
        // SAFETY: the object consists of words, links and data. These promise the compiler no bytes
        // at this address, and only functions access them.
        unsafe { &*at }
    }
}
