//! SSYNC's hash table: a fixed number of buckets, each under a lock of its own.
//!
//! The table is laid out for caches. A bucket's lock shares its lines only with the bucket's head,
//! so a thread that gets the lock also gets the head into its cache. The bucket's keys are
//! together, seven to a line, and a search reads one line after the other, which processors
//! prefetch. A search touches only one value. No two buckets share a line.
//!
//! When not to use it: with long buckets, since a search reads all keys of a bucket. The number of
//! buckets is fixed.
//!
//! Source: David, Guerraoui and Trigonakis, "Everything You Always Wanted to Know About
//! Synchronization but Were Afraid to Ask" (2013), sections 4.3 (ssht) and 6.3.

use core::fmt;

use alloc::vec::Vec;

use super::keys::{arc, spread};
use super::shelf::Shelf;
use crate::lock::{RawLock, Ttas};
use crate::memory::{Data, Memory, Own, Padded};

/// A hash table with 64-bit keys, and a lock of the catalogue for each bucket.
///
/// ```
/// use syncline::lock::Ticket;
/// use syncline::table::LockTable;
///
/// let table: LockTable<&str, Ticket> = LockTable::new(512, 12);
/// assert_eq!(table.put(7, "seven"), None);
/// assert_eq!(table.put(7, "SEVEN"), Some("seven"));
/// assert_eq!(table.get(7), Some("SEVEN"));
/// assert_eq!(table.remove(7), Some("SEVEN"));
/// ```
///
/// Each operation takes effect at one moment while it runs (it is linearizable). A thread that gets
/// a value also sees everything that happened before the [`put`](Self::put) of the value. Values
/// are returned, never dropped under a lock.
pub struct LockTable<V, L: RawLock = Ttas> {
    buckets: Vec<Padded<Bucket<V, L>>>,
}

struct Bucket<V, L: RawLock> {
    lock: L,
    shelf: <L::Memory as Memory>::Data<Shelf<V, L::Memory>>,
}

// SAFETY: the locks let one thread at a time reach a value, which moves between threads that way.
unsafe impl<V: Send, L: RawLock> Sync for LockTable<V, L> {}
// SAFETY: a table owns its values.
unsafe impl<V: Send, L: RawLock> Send for LockTable<V, L> {}

impl<V, L: RawLock> LockTable<V, L> {
    /// An empty table with `buckets` buckets, each with room for at least `keys_per_bucket` keys
    /// before it has to allocate.
    ///
    /// # Panics
    ///
    /// If there are no buckets, or if they take more memory than can be addressed.
    pub fn new(buckets: usize, keys_per_bucket: usize) -> Self {
        assert!(buckets > 0, "a table needs at least one bucket");
        let bucket =
            |_| Bucket { lock: L::default(), shelf: Data::new(Shelf::new(keys_per_bucket)) };
        Self { buckets: (0..buckets).map(bucket).map(Padded).collect() }
    }

    /// The number of buckets.
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// The number of a key's bucket, counted from 0. Consecutive keys go to different buckets, if
    /// there are at least three, and fill the buckets evenly.
    #[inline]
    pub fn bucket_of(&self, key: u64) -> usize {
        arc(spread(key), self.buckets.len()).0
    }

    /// Inserts a value, and returns the one that was there for the key.
    #[inline]
    pub fn put(&self, key: u64, value: V) -> Option<V> {
        // SAFETY: the bucket's lock is held.
        self.locked(key, |bucket| unsafe {
            bucket.shelf.look(|shelf| (*shelf).put(key, value)).unwrap_or_else(|value| {
                bucket.shelf.with(|shelf| (*shelf).grow());
                let put = bucket.shelf.look(|shelf| (*shelf).put(key, value));
                put.unwrap_or_else(|_| unreachable!("there is room for a line of keys more"))
            })
        })
    }

    /// A copy of the key's value, or `None` if there is no such key.
    ///
    /// # Panics
    ///
    /// Panics if `clone` does. It runs under the bucket's lock, and must not use the table.
    #[inline]
    pub fn get(&self, key: u64) -> Option<V>
    where
        V: Clone,
    {
        // SAFETY: the bucket's lock is held.
        self.locked(key, |bucket| unsafe { bucket.shelf.look(|shelf| (*shelf).get(key, V::clone)) })
    }

    /// Removes the key, and returns its value.
    #[inline]
    pub fn remove(&self, key: u64) -> Option<V> {
        // SAFETY: the bucket's lock is held.
        self.locked(key, |bucket| unsafe { bucket.shelf.look(|shelf| (*shelf).remove(key)) })
    }

    /// The number of keys, counted bucket by bucket. While other threads change the table, the
    /// result need not be the number at any one moment.
    pub fn len(&self) -> usize {
        // SAFETY: the bucket's lock is held.
        let of = |bucket: &Bucket<V, L>| unsafe { bucket.shelf.look(|shelf| (*shelf).len()) };
        self.buckets.iter().map(|bucket| bucket.locked(of)).sum()
    }

    /// Whether there are no keys, counted as [`len`](Self::len) does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn locked<R>(&self, key: u64, section: impl FnOnce(&Bucket<V, L>) -> R) -> R {
        self.buckets[self.bucket_of(key)].locked(section)
    }
}

impl<V, L: RawLock> Bucket<V, L> {
    /// Runs a function with the lock held.
    #[inline]
    fn locked<R>(&self, section: impl FnOnce(&Self) -> R) -> R {
        let node = Own::<L::Node, L::Memory>::default();
        // SAFETY: the node stays until `Release` has released.
        unsafe { self.lock.acquire(&node) };
        L::Memory::acquired();
        let _release = Release { lock: &self.lock, node: &node };
        section(self)
    }
}

/// Releases a lock at the end of a section, even if the section panics.
struct Release<'a, L: RawLock> {
    lock: &'a L,
    node: &'a L::Node,
}

impl<L: RawLock> Drop for Release<'_, L> {
    #[inline]
    fn drop(&mut self) {
        L::Memory::releasing();
        // SAFETY: the lock was acquired with this node.
        unsafe { self.lock.release(self.node) };
    }
}

impl<V, L: RawLock> fmt::Debug for LockTable<V, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockTable").field("buckets", &self.buckets()).finish_non_exhaustive()
    }
}
