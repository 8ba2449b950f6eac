//! Notes nothing: for release builds, and for systems whose threads have no numbers.

/// The thread that holds a lock: not noted.
#[derive(Debug, Default)]
pub(crate) struct Owner;

#[allow(clippy::unused_self)]
impl Owner {
    pub(crate) const fn nobody() -> Self {
        Self
    }
    #[inline(always)]
    pub(crate) fn expect_another(&self) {}
    #[inline(always)]
    pub(crate) fn set(&self) {}
    #[inline(always)]
    pub(crate) fn set_again(&self) {}
    #[inline(always)]
    pub(crate) fn clear(&self) {}
}
