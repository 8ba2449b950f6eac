//! A value on lines of its own.

use core::ops::{Deref, DerefMut};

use bytemuck::Zeroable;

/// A value whose cache lines hold nothing else, so that writing it does not disturb threads that
/// use its neighbours.
///
/// The value takes one or more pairs of lines, since processors fetch lines in pairs.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

// SAFETY: the value and padding, which may be anything.
unsafe impl<T: Zeroable> Zeroable for Padded<T> {}

impl<T> Deref for Padded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Padded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
