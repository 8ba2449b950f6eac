//! The entry of a key in a table, locked.

use std::fmt;
use std::mem;
use std::vec::Vec;

use super::bucket::Buckets;
use super::held::{Found, Held};
use super::reference::Ref;
use super::storage::Storage;
use super::table::HashTable;
use super::tags::tag;
use crate::memory::Native;

/// The entry of a key, which may have no value yet. The entry stays locked as long as this value
/// lives: see [`HashTable::entry`].
///
/// A thread that has an entry must not use the table in any other way: that might need the bucket
/// that is locked.
pub struct Entry<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw> = Native> {
    // The lock is released before the key is dropped.
    held: Held<'t, P::Raw, M>,
    table: &'t HashTable<K, V, S, P, M>,
    found: Option<Found<P::Raw, M>>,
    key: K,
    hash: u64,
    /// The replaced entries, which are dropped after the lock is released.
    retired: Retired<'t, K, V, S, P, M>,
}

/// Entries that were taken out.
struct Retired<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> {
    table: &'t HashTable<K, V, S, P, M>,
    all: Vec<P::Raw>,
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> Retired<'_, K, V, S, P, M> {
    fn add(&mut self, raw: P::Raw) {
        if P::OWNS {
            self.all.push(raw);
        }
    }
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> Drop for Retired<'_, K, V, S, P, M> {
    #[inline]
    fn drop(&mut self) {
        for raw in self.all.drain(..) {
            // SAFETY: the entry can't be found any more, and is retired here only.
            unsafe { self.table.storage.retire(raw) };
        }
    }
}

impl<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> Entry<'t, K, V, S, P, M> {
    #[inline]
    pub(super) fn new(
        table: &'t HashTable<K, V, S, P, M>,
        held: Held<'t, P::Raw, M>,
        key: K,
        hash: u64,
        found: Option<Found<P::Raw, M>>,
    ) -> Self {
        Self { held, table, found, key, hash, retired: Retired { table, all: Vec::new() } }
    }

    /// The key that was asked for.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The value, if there is one.
    pub fn get(&self) -> Option<&V> {
        // SAFETY: the bucket is locked, so no other thread takes the entry out.
        self.found.as_ref().map(|(_, raw)| unsafe { P::value(raw) })
    }

    /// Replaces the value, if there is one, by the result of a function on it.
    ///
    /// # Panics
    ///
    /// Panics if the function or the key's `clone` does; the value then stays.
    #[must_use = "without a value this does nothing; `or_insert` says what to put in"]
    pub fn and_modify(mut self, next: impl FnOnce(&V) -> V) -> Self
    where
        K: Clone,
    {
        if let Some(value) = self.get().map(next) {
            self.set(self.key.clone(), value);
        }
        self
    }

    /// Inserts a value if the key has none, and returns the key's value.
    pub fn or_insert(self, value: V) -> Ref<'t, K, V, P> {
        self.or_insert_with(|| value)
    }

    /// Inserts the result of a function if the key has no value, and returns the key's value.
    ///
    /// # Panics
    ///
    /// Panics if the function does; then nothing is inserted.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> Ref<'t, K, V, P> {
        match self.found {
            Some((_, raw)) => {
                // Others can remove the entry only after the lock is released.
                let present = self.table.refer(raw);
                // The lock is released before `make` is dropped, which owns the value of
                // `or_insert`.
                drop(self);
                present
            }
            None => {
                let value = make();
                self.put(value)
            }
        }
    }

    /// Inserts or replaces the value, and returns it.
    pub fn insert(self, value: V) -> Ref<'t, K, V, P> {
        self.put(value)
    }

    /// Removes the entry, and returns its value; `None` if there is no value.
    pub fn remove(mut self) -> Option<Ref<'t, K, V, P>> {
        let (place, raw) = self.found.take()?;
        self.held.remove(&place);
        let table = self.table;
        drop(self);
        Some(table.retired(raw))
    }

    fn put(self, value: V) -> Ref<'t, K, V, P> {
        let Self { mut held, table, found, key, hash, mut retired } = self;
        let new = P::make(key, value);
        match found {
            Some((place, old)) => {
                held.replace(&place, new);
                retired.add(old);
            }
            None => held.add(tag(hash), new),
        }
        let new = table.refer(new);
        drop(held);
        new
    }

    fn set(&mut self, key: K, value: V) {
        let new = P::make(key, value);
        if let Some((place, raw)) = &mut self.found {
            self.held.replace(place, new);
            self.retired.add(mem::replace(raw, new));
        }
    }
}

impl<K, V, S, P, M> fmt::Debug for Entry<'_, K, V, S, P, M>
where
    K: fmt::Debug,
    V: fmt::Debug,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("key", &self.key).field("value", &self.get()).finish()
    }
}
