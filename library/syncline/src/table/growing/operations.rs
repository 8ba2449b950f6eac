//! The operations of a table, on one key and on all entries.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, RandomState};
use std::mem;

use super::bucket::Buckets;
use super::entry::Entry;
use super::iter::{Iter, after};
use super::reference::Ref;
use super::storage::Storage;
use super::table::HashTable;
use super::tags::tag;

impl<K, V, P: Storage<K, V>> HashTable<K, V, RandomState, P> {
    /// An empty table.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty table with room for `capacity` entries.
    ///
    /// # Panics
    ///
    /// Same panics as [`with_capacity_and_hasher`](Self::with_capacity_and_hasher).
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, RandomState::new())
    }
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> HashTable<K, V, S, P, M> {
    /// An empty table with this hasher.
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_capacity_and_hasher(0, hasher)
    }

    /// All entries, in no particular order. An entry that is there all the time is visited once. An
    /// entry that is inserted, replaced or removed meanwhile is visited as it was at some time, or
    /// not at all.
    pub fn iter(&self) -> Iter<'_, K, V, S, P, M> {
        Iter::new(self)
    }

    /// The number of entries, counted bucket by bucket. While other threads change the table, the
    /// result need not be the number at any one moment. Counting takes time in proportion to the
    /// table's size.
    pub fn len(&self) -> usize {
        self.buckets().sum()
    }

    /// Whether there are no entries; like [`len`](Self::len), but stops at the first entry.
    pub fn is_empty(&self) -> bool {
        self.buckets().all(|entries| entries == 0)
    }

    /// Removes all entries for which a function returns `false`. The function runs while the
    /// entries' bucket is locked. Entries that are inserted meanwhile may be missed.
    ///
    /// # Panics
    ///
    /// Panics if the function does; entries of earlier buckets that were removed stay removed.
    pub fn retain(&self, keep: impl FnMut(&K, &V) -> bool) {
        let mut keep = keep;
        let mut next = Some(0);
        while let Some(ending) = next {
            let mut held = self.lock_leaf(ending);
            let mut entries = held.entries();
            // SAFETY: the bucket is locked.
            entries.retain(|(_, raw)| unsafe { !keep(P::key(raw), P::value(raw)) });
            entries.iter().for_each(|(position, _)| held.vacate(position));
            held.tidy();
            next = after(ending, held.depth().unwrap_or_default());
            drop(held);
            for (_, raw) in entries {
                // SAFETY: the entry was just taken out.
                unsafe { self.storage.retire(raw) };
            }
        }
    }

    /// Removes all entries; those that are inserted meanwhile may stay. The table keeps the memory
    /// of its buckets.
    pub fn clear(&self) {
        self.retain(|_, _| false);
    }
}

impl<K, V, S, P, M> HashTable<K, V, S, P, M>
where
    K: Hash + Eq,
    S: BuildHasher,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
    /// The value of a key, or `None` if there is no such key.
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<Ref<'_, K, V, P>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let pin = self.storage.pin();
        self.find(hash, key).map(|raw| Ref::new(raw, pin))
    }

    /// The result of a function on the key's value. No lock is held meanwhile.
    #[inline]
    pub fn with<Q, R>(&self, key: &Q, read: impl FnOnce(&V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).map(|value| read(&value))
    }

    /// Whether there is such a key.
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).is_some()
    }

    /// Inserts an entry, and returns the one that was there for the key.
    #[inline]
    pub fn insert(&self, key: K, value: V) -> Option<Ref<'_, K, V, P>> {
        let hash = self.hash(&key);
        let mut held = self.lock(hash);
        let Some((position, old)) = held.find(tag(hash), Self::is(&key)) else {
            held.add(tag(hash), P::make(key, value));
            return None;
        };
        held.replace(&position, P::make(key, value));
        drop(held);
        Some(self.retired(old))
    }

    /// Removes the entry of a key, and returns it.
    #[inline]
    pub fn remove<Q>(&self, key: &Q) -> Option<Ref<'_, K, V, P>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let mut held = self.lock(hash);
        let (position, old) = held.find(tag(hash), Self::is(key))?;
        held.remove(&position);
        drop(held);
        Some(self.retired(old))
    }

    /// Replaces a key's value by the result of a function on it, and returns the new value. The
    /// function runs once, while the bucket is locked. Returns `None` if there is no such key.
    ///
    /// # Panics
    ///
    /// Panics if the function or the key's `clone` does; the value then stays.
    pub fn update<Q>(&self, key: &Q, next: impl FnOnce(&V) -> V) -> Option<Ref<'_, K, V, P>>
    where
        K: Borrow<Q> + Clone,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hash(key);
        let mut held = self.lock(hash);
        let (position, old) = held.find(tag(hash), Self::is(key))?;
        // SAFETY: the bucket is locked.
        let (key, value) = unsafe { (P::key(&old), P::value(&old)) };
        let new = P::make(key.clone(), next(value));
        held.replace(&position, new);
        // The reference is made before the lock is released, since other threads may remove the
        // entry after that.
        let new = self.refer(new);
        drop(held);
        drop(self.retired(old));
        Some(new)
    }

    /// Locks the entry of a key, until the result is dropped or consumed. Use it to read the value
    /// and to write one that depends on it, in one step.
    ///
    /// ```
    /// use syncline::table::Table;
    ///
    /// let words = Table::new();
    /// for word in ["to", "be", "or", "not", "to", "be"] {
    ///     words.entry(word).and_modify(|count| count + 1).or_insert(1);
    /// }
    /// assert_eq!(words.get("be").map(|count| *count), Some(2));
    /// ```
    #[inline]
    pub fn entry(&self, key: K) -> Entry<'_, K, V, S, P, M> {
        let hash = self.hash(&key);
        let held = self.lock(hash);
        let found = held.find(tag(hash), Self::is(&key));
        Entry::new(self, held, key, hash, found)
    }
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> HashTable<K, V, S, P, M> {
    /// A reference to an entry that was just removed. The entry is dropped some time after the last
    /// reference.
    #[inline]
    pub(super) fn retired(&self, raw: P::Raw) -> Ref<'_, K, V, P> {
        let entry = self.refer(raw);
        // SAFETY: the entry can't be found any more, and the reference's pin keeps it alive.
        unsafe { self.storage.retire(raw) };
        entry
    }
}

impl<K, V, S: Default, P: Storage<K, V>, M: Buckets<P::Raw>> Default for HashTable<K, V, S, P, M> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S, P, M> Extend<(K, V)> for HashTable<K, V, S, P, M>
where
    K: Hash + Eq,
    S: BuildHasher,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| mem::drop(self.insert(key, value)));
    }
}

impl<K, V, S, P, M> FromIterator<(K, V)> for HashTable<K, V, S, P, M>
where
    K: Hash + Eq,
    S: BuildHasher + Default,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        let mut table = Self::with_capacity_and_hasher(entries.size_hint().0, S::default());
        table.extend(entries);
        table
    }
}
