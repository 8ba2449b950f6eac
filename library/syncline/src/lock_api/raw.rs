//! The type that has the traits of both versions.

use core::mem::MaybeUninit;

use bytemuck::Zeroable;

/// A lock of the catalogue, with `lock_api`'s traits.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Raw<L>(pub(super) L);

/// A fresh lock.
pub(super) const fn free<L: Zeroable>() -> Raw<L> {
    // SAFETY: a lock of zeros is a free one.
    Raw(unsafe { MaybeUninit::zeroed().assume_init() })
}
