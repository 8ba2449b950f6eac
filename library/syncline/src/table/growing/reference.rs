//! A table's reference to a value.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::storage::Storage;

/// A value of a [`HashTable`](super::HashTable), and its key, as they were when they were found.
///
/// A reference locks nothing: other threads may replace or remove the entry meanwhile, and the
/// value stays what it was. A table that keeps entries in nodes does not free removed entries while
/// older references live, so references should not live long.
pub struct Ref<'t, K, V, P: Storage<K, V> + 't> {
    raw: P::Raw,
    _pin: P::Pin<'t>,
    entry: PhantomData<&'t (K, V)>,
}

impl<'t, K, V, P: Storage<K, V>> Ref<'t, K, V, P> {
    /// A reference to an entry. The thread has been pinned since it found the entry, perhaps by an
    /// older pin, or the entry is retired only after `pin` was made.
    #[inline]
    pub(super) fn new(raw: P::Raw, pin: P::Pin<'t>) -> Self {
        Self { raw, _pin: pin, entry: PhantomData }
    }

    /// The key.
    pub fn key(&self) -> &K {
        // SAFETY: the pin keeps the entry alive.
        unsafe { P::key(&self.raw) }
    }
}

impl<K, V, P: Storage<K, V>> Deref for Ref<'_, K, V, P> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        // SAFETY: the pin keeps the entry alive.
        unsafe { P::value(&self.raw) }
    }
}

impl<K, V: fmt::Debug, P: Storage<K, V>> fmt::Debug for Ref<'_, K, V, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
