//! The table for most programs: of any size, with keys and values of any type.
//!
//! A reader writes nothing that other threads read: it looks up its bucket, copies what it finds,
//! and sees by the bucket's version whether a writer was there meanwhile (`version`). Only a reader
//! that has found writers there many times locks the bucket. Writers of different buckets don't
//! contend. The table grows bucket by bucket (`directory`). Its [`Storage`] says where entries are
//! kept.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};

use super::bucket::{Bucket, Buckets};
use super::directory::{Directory, mask};
use super::drain::drain;
use super::held::Held;
use super::reference::Ref;
use super::storage::{Boxed, Flat, Storage};
use super::tags::{Tags, tag};
use super::version::wait;
use crate::memory::Native;

/// A hash table that threads share, which grows: [`Table`] or [`FlatTable`].
///
/// Each operation on a key takes effect at one moment while it runs (it is linearizable). A thread
/// that finds a value also sees everything that happened before the value was put in. Readers lock
/// nothing, except after many looks that writers have disturbed; then they lock the key's bucket
/// for a moment.
///
/// **The caller's functions** run while the key's bucket is locked, if the operation's description
/// says so. Such a function must not use the table, or its thread may wait for itself. `Eq` of keys
/// also runs while the bucket is locked, and `Hash` while a bucket is split. A panic in one of
/// these functions releases the bucket, and leaves the bucket's entries as they were before the
/// operation. Values and keys are dropped outside of locks, unless they are dropped by such a
/// panic.
///
/// **Memory** of buckets is kept until the table is dropped.
pub struct HashTable<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw> = Native> {
    pub(super) directory: Directory<P::Raw, M>,
    pub(super) storage: P,
    pub(super) hasher: S,
}

/// A [`HashTable`] for keys and values of any types: it keeps each entry in a node of its own.
///
/// ```
/// use syncline::table::Table;
///
/// let ages = Table::new();
/// ages.insert("Ada".to_owned(), 36);
/// assert_eq!(ages.get("Ada").map(|age| *age), Some(36));
/// ages.update("Ada", |age| age + 1);
/// assert_eq!(ages.remove("Ada").map(|age| *age), Some(37));
/// assert!(ages.is_empty());
/// ```
pub type Table<K, V, S = RandomState> = HashTable<K, V, S, Boxed>;

/// A [`HashTable`] for keys and values that can be copied: it keeps them in the buckets
/// themselves.
///
/// ```
/// use syncline::table::FlatTable;
///
/// let squares: FlatTable<u64, u64> = (0..1000).map(|n| (n, n * n)).collect();
/// assert_eq!(squares.get(&12).map(|square| *square), Some(144));
/// assert_eq!(squares.len(), 1000);
/// ```
pub type FlatTable<K, V, S = RandomState> = HashTable<K, V, S, Flat>;

// SAFETY: entries are shared, and dropped by any thread.
unsafe impl<K, V, S, P, M> Sync for HashTable<K, V, S, P, M>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Sync,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
}
// SAFETY: a table owns its entries.
unsafe impl<K, V, S, P, M> Send for HashTable<K, V, S, P, M>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Send,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> HashTable<K, V, S, P, M> {
    /// An empty table with this hasher, and room for `capacity` entries.
    ///
    /// # Panics
    ///
    /// If `capacity` entries take more memory than can be addressed. If there is not enough memory,
    /// [`handle_alloc_error`](std::alloc::handle_alloc_error) is called, which aborts.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        Self { directory: Directory::new(capacity), storage: P::default(), hasher }
    }

    /// The hasher.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// The memory of the buckets, in bytes, without the nodes of entries.
    pub fn bytes(&self) -> usize {
        self.directory.bytes()
    }

    /// The reference that is returned for a found entry. The caller is pinned, has locked the
    /// entry's bucket, or has taken the entry out and retires it later.
    #[inline]
    pub(super) fn refer(&self, raw: P::Raw) -> Ref<'_, K, V, P> {
        Ref::new(raw, self.storage.pin())
    }

    /// Locks the bucket that has the keys whose hashes end in `ending`, whatever its depth.
    pub(super) fn lock_leaf(&self, ending: usize) -> Held<'_, P::Raw, M> {
        let mut at = ending & mask(self.directory.bits());
        let mut looks = 0;
        loop {
            let Some(held) = Held::try_new(&self.directory, self.directory.bucket(at)) else {
                looks += 1;
                wait::<M>(looks);
                continue;
            };
            at = match held.depth() {
                Some(depth) if ending & mask(depth) == at => return held,
                Some(depth) => ending & mask(depth),
                None => Directory::<P::Raw, M>::parent(at),
            };
        }
    }
}

/// The bucket in which to look next for the keys with this hash, according to the tags of bucket
/// `at`. That bucket may have been split, or may never have been used. Out of line, since nearly
/// all buckets are as deep as the table has bits.
#[cold]
fn right<R: Copy, M: Buckets<R>>(tags: Tags, hash: u64, at: usize) -> usize {
    match tags.depth() {
        Some(depth) => hash as usize & mask(depth),
        None => Directory::<R, M>::parent(at),
    }
}

impl<K, V, S, P, M> HashTable<K, V, S, P, M>
where
    K: Hash + Eq,
    S: BuildHasher,
    P: Storage<K, V>,
    M: Buckets<P::Raw>,
{
    #[inline]
    pub(super) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline]
    pub(super) fn is<'q, Q>(key: &'q Q) -> impl Fn(&P::Raw) -> bool + use<'q, K, V, S, P, M, Q>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        // SAFETY: callers have locked the entry's bucket, or are pinned.
        move |raw| unsafe { P::key(raw) }.borrow() == key
    }

    /// The entry of a key. The caller is pinned.
    #[inline]
    pub(super) fn find<Q>(&self, hash: u64, key: &Q) -> Option<P::Raw>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let bits = self.directory.bits();
        let mut at = hash as usize & mask(bits);
        // If the first bucket is as deep as nearly all are, it is the right one.
        let mut expected = bits;
        let mut looks = 0;
        let mut held = None;
        'again: loop {
            // After many looks without success a reader locks the bucket, since then no writer
            // disturbs it any more. Both cases share one return, so that the result stays in
            // registers.
            if looks > M::PATIENCE && held.is_none() {
                held = Some(self.lock_leaf(hash as usize));
            }
            let home = held.as_ref().map_or_else(|| self.directory.bucket(at), Held::home);
            if Bucket::<P::Raw, M>::worth_fetching(bits) {
                home.fetch();
            }
            let seen =
                held.as_ref().map_or_else(|| home.version().look(), |held| Some(held.seen()));
            let Some(seen) = seen else {
                looks += 1;
                wait::<M>(looks);
                continue;
            };
            let unchanged = || home.version().unchanged(seen);
            let mut tags = home.tags();
            if tags.depth() != Some(expected) && held.is_none() {
                let right = right::<P::Raw, M>(tags, hash, at);
                if right != at {
                    if unchanged() {
                        // No bucket has this depth, so the next bucket is checked by `right` as
                        // well.
                        (at, expected) = (right, u32::MAX);
                    }
                    continue;
                }
            }
            let mut bucket = home;
            loop {
                for slot in tags.with(tag(hash), Bucket::<P::Raw, M>::SLOTS) {
                    let raw = bucket.copy(slot, P::READ);
                    if !unchanged() {
                        looks += 1;
                        continue 'again;
                    }
                    // SAFETY: no writer was there, so the slot was taken, and this is the entry.
                    let raw = unsafe { raw.assume_init() };
                    if Self::is(key)(&raw) {
                        return Some(raw);
                    }
                }
                let next = bucket.next();
                if !unchanged() {
                    looks += 1;
                    continue 'again;
                }
                bucket = next?;
                tags = bucket.tags();
            }
        }
    }

    /// Locks the bucket of a hash, to write.
    #[inline]
    pub(super) fn lock(&self, hash: u64) -> Held<'_, P::Raw, M> {
        let bits = self.directory.bits();
        let bucket = self.directory.bucket(hash as usize & mask(bits));
        if Bucket::<P::Raw, M>::worth_fetching(bits) {
            bucket.fetch_for_write();
        }
        if let Some(held) = Held::try_new(&self.directory, bucket)
            && held.depth() == Some(bits)
        {
            return held;
        }
        self.lock_later(hash)
    }

    /// The slow path of [`lock`](Self::lock): the bucket is not free, does not have the keys, or
    /// has to be split.
    #[cold]
    fn lock_later(&self, hash: u64) -> Held<'_, P::Raw, M> {
        let mut at = hash as usize & mask(self.directory.bits());
        let mut looks = 0;
        loop {
            let bucket = self.directory.bucket(at);
            let Some(held) = Held::try_new(&self.directory, bucket) else {
                looks += 1;
                wait::<M>(looks);
                continue;
            };
            at = match held.depth() {
                Some(depth) if hash as usize & mask(depth) == at => {
                    if depth >= self.directory.bits() {
                        return held;
                    }
                    self.split(held, at, depth);
                    hash as usize & mask(depth + 1)
                }
                Some(depth) => hash as usize & mask(depth),
                None => Directory::<P::Raw, M>::parent(at),
            };
        }
    }

    /// Splits a bucket: moves entries to the bucket whose number has bit `depth` set in addition.
    #[cold]
    fn split<'t>(&'t self, mut held: Held<'t, P::Raw, M>, at: usize, depth: u32) {
        let sibling = self.directory.bucket(at | 1 << depth);
        let mut looks = 0;
        // Other threads lock the sibling only to find that it was never used, and wait for nothing
        // while they hold it.
        let mut sibling = loop {
            if let Some(sibling) = Held::try_new(&self.directory, sibling) {
                break sibling;
            }
            looks += 1;
            wait::<M>(looks);
        };
        // SAFETY: the entries' bucket is locked.
        held.split(&mut sibling, depth, |raw| self.hash(unsafe { P::key(raw) }));
        // The sibling is released first: a thread that finds the new depth of this bucket finds the
        // sibling ready.
        drop(sibling);
        drop(held);
    }
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> fmt::Debug for HashTable<K, V, S, P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashTable")
            .field("buckets", &self.directory.buckets())
            .finish_non_exhaustive()
    }
}

/// Drops the entries that are left. If dropping an entry panics, the panic continues after all
/// entries are dropped.
impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> Drop for HashTable<K, V, S, P, M> {
    fn drop(&mut self) {
        drain::<K, V, P, M>(&mut self.directory);
    }
}
