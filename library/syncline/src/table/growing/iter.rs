//! Iterating over a whole table, bucket by bucket, while others change it.
//!
//! Buckets are visited in the order of their numbers with the bits reversed: as if the lowest bit
//! were the first digit after a binary point. So a bucket that is split during the iteration was
//! either visited as a whole, or is still ahead as a whole, with its two parts one after the other.
//! An entry that stays is therefore visited once. In this file, an *ending* is a value of some low
//! bits of a hash.

use std::iter;
use std::vec::Vec;

use super::bucket::{Bucket, Buckets};
use super::directory::{Directory, mask};
use super::reference::Ref;
use super::storage::Storage;
use super::table::HashTable;
use super::tags::Tags;
use super::version::wait;
use crate::memory::Native;

/// The number to visit after the bucket that has all hashes whose low `depth` bits are those of
/// `ending`; `None` after the last bucket.
#[inline]
pub(super) fn after(ending: usize, depth: u32) -> Option<usize> {
    let last = (ending | !mask(depth)).reverse_bits();
    last.checked_add(1).map(usize::reverse_bits)
}

/// All entries of a table: see [`HashTable::iter`].
pub struct Iter<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw> = Native> {
    table: &'t HashTable<K, V, S, P, M>,
    /// Entries of the latest bucket that are still to be returned.
    found: Vec<P::Raw>,
    next: Option<usize>,
    /// Keeps alive what was found.
    _pin: P::Pin<'t>,
}

impl<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> Iter<'t, K, V, S, P, M> {
    pub(super) fn new(table: &'t HashTable<K, V, S, P, M>) -> Self {
        Self { table, found: Vec::new(), next: Some(0), _pin: table.storage.pin() }
    }
}

impl<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> Iterator for Iter<'t, K, V, S, P, M> {
    type Item = Ref<'t, K, V, P>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(raw) = self.found.pop() {
                return Some(Ref::new(raw, self.table.storage.pin()));
            }
            let ending = self.next?;
            let depth = self.table.entries_of(ending, &mut self.found);
            self.next = after(ending, depth);
        }
    }
}

impl<'t, K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> IntoIterator
    for &'t HashTable<K, V, S, P, M>
{
    type Item = Ref<'t, K, V, P>;
    type IntoIter = Iter<'t, K, V, S, P, M>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> std::fmt::Debug for Iter<'_, K, V, S, P, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

impl<K, V, S, P: Storage<K, V>, M: Buckets<P::Raw>> HashTable<K, V, S, P, M> {
    /// The number of entries in each bucket.
    pub(super) fn buckets(&self) -> impl Iterator<Item = usize> {
        let mut next = Some(0);
        iter::from_fn(move || {
            let ending = next?;
            let mut count = 0;
            let depth = self.visit(ending, |visited| match visited {
                None => count = 0,
                Some((_, tags)) => count += tags.taken(Bucket::<P::Raw, M>::SLOTS).len(),
            });
            next = after(ending, depth);
            Some(count)
        })
    }

    /// Adds to `found` the entries of the bucket that has the hashes ending in `ending`, and
    /// returns its depth. The caller is pinned.
    fn entries_of(&self, ending: usize, found: &mut Vec<P::Raw>) -> u32 {
        let mut copies = Vec::with_capacity(Bucket::<P::Raw, M>::SLOTS);
        let depth = self.visit(ending, |visited| match visited {
            None => copies.clear(),
            Some((bucket, tags)) => {
                let taken = tags.taken(Bucket::<P::Raw, M>::SLOTS);
                copies.extend(taken.map(|slot| bucket.copy(slot, P::READ)));
            }
        });
        // SAFETY: no writer was there while the entries were copied, so the slots were taken.
        found.extend(copies.into_iter().map(|copy| unsafe { copy.assume_init() }));
        depth
    }

    /// Passes to `see` the bucket that has the keys whose hashes end in `ending`, and the buckets
    /// behind it, and returns the depth. A call with `None` invalidates what `see` got before. All
    /// that `see` gets after the last `None` is the state that one writer left.
    fn visit(&self, ending: usize, mut see: impl FnMut(Option<(Bucket<P::Raw, M>, Tags)>)) -> u32 {
        // Returns whether the visit was complete. The caller has to check this as well as the
        // version at the end: a writer that changes nothing leaves the version as it was.
        let mut chain = |home: Bucket<P::Raw, M>, go_on: &dyn Fn() -> bool| {
            see(None);
            let mut bucket = Some(home);
            while let Some(visited) = bucket {
                if !go_on() {
                    return false;
                }
                see(Some((visited, visited.tags())));
                bucket = visited.next();
            }
            true
        };
        let mut at = ending & mask(self.directory.bits());
        for looks in 1..=M::PATIENCE {
            let home = self.directory.bucket(at);
            let Some(seen) = home.version().look() else {
                wait::<M>(looks);
                continue;
            };
            let unchanged = || home.version().unchanged(seen);
            let depth = home.tags().depth();
            let right = match depth {
                Some(depth) => ending & mask(depth),
                None => Directory::<P::Raw, M>::parent(at),
            };
            if right != at {
                at = if unchanged() { right } else { at };
                continue;
            }
            let through = chain(home, &unchanged);
            if let Some(depth) = depth.filter(|_| through && unchanged()) {
                return depth;
            }
        }
        let held = self.lock_leaf(ending);
        chain(held.home(), &|| true);
        held.depth().unwrap_or_default()
    }
}
