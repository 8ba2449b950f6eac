//! Notes nothing: for release builds, and for builds without `std`, in which threads have no
//! numbers.

use core::panic::Location;

use super::mode::Mode;

/// The threads that hold a lock: not noted.
#[derive(Debug, Default)]
pub(crate) struct Owner;

/// A lock as messages name it: not noted.
#[derive(Clone, Copy)]
pub(crate) struct Named;

/// A wait: not noted.
pub(crate) struct Waiting;

impl Named {
    #[inline(always)]
    pub(crate) fn new<L: ?Sized, T: ?Sized>(_: &'static str, _: *const L, _: *const T) -> Self {
        Self
    }
}

impl Waiting {
    #[inline(always)]
    pub(crate) fn ends(self) {}
}

#[allow(clippy::unused_self)]
impl Owner {
    pub(crate) const fn nobody() -> Self {
        Self
    }
    #[inline(always)]
    pub(crate) fn expect_another(&self) {}
    #[inline(always)]
    pub(crate) fn waits(&self, _: Mode, _: Named) -> Waiting {
        Waiting
    }
    #[inline(always)]
    pub(crate) fn waits_unchecked(
        &self,
        _: Mode,
        _: Named,
        _: &'static Location<'static>,
    ) -> Waiting {
        Waiting
    }
    #[inline(always)]
    pub(crate) fn set(&self) {}
    #[inline(always)]
    pub(crate) fn set_again(&self) {}
    #[inline(always)]
    pub(crate) fn clear(&self) {}
    #[inline(always)]
    pub(crate) fn share(&self, _: Mode) {}
    #[inline(always)]
    pub(crate) fn unshare(&self, _: Mode) {}
}
