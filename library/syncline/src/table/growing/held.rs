//! A locked bucket, and all that a writer does to it.

use std::vec::Vec;

use super::bucket::{Bucket, Buckets};
use super::directory::Directory;
use super::tags::Slots;
use super::version::Seen;

/// The position of an entry: the home bucket or a bucket behind it, and the slot.
pub(super) struct Position<R: Copy, M: Buckets<R>> {
    bucket: Bucket<R, M>,
    slot: usize,
}

/// An entry and its position.
pub(super) type Found<R, M> = (Position<R, M>, R);

/// A locked home bucket; it is released when this is dropped.
pub(super) struct Held<'t, R: Copy, M: Buckets<R>> {
    directory: &'t Directory<R, M>,
    home: Bucket<R, M>,
    seen: Seen,
    changed: bool,
}

impl<R: Copy, M: Buckets<R>> Drop for Held<'_, R, M> {
    #[inline]
    fn drop(&mut self) {
        self.home.version().unlock(self.seen, self.changed);
    }
}

impl<'t, R: Copy, M: Buckets<R>> Held<'t, R, M> {
    /// Locks a bucket if it is free.
    #[inline]
    pub(super) fn try_new(directory: &'t Directory<R, M>, home: Bucket<R, M>) -> Option<Self> {
        let seen = home.version().try_lock()?;
        Some(Self { directory, home, seen, changed: false })
    }

    /// How many bits of the hash the keys have in common; `None` if the bucket was never used.
    #[inline]
    pub(super) fn depth(&self) -> Option<u32> {
        self.home.tags().depth()
    }

    #[inline]
    fn chain(&self) -> impl Iterator<Item = Bucket<R, M>> + use<R, M> {
        std::iter::successors(Some(self.home), |bucket| bucket.next())
    }

    /// The entry with this tag for which a function returns true.
    #[inline]
    pub(super) fn find(&self, tag: u8, is: impl Fn(&R) -> bool) -> Option<Found<R, M>> {
        for bucket in self.chain() {
            for slot in bucket.tags().with(tag, Bucket::<R, M>::SLOTS) {
                // SAFETY: the bucket is locked, and only taken slots have tags.
                let raw = unsafe { bucket.get(slot) };
                if is(&raw) {
                    return Some((Position { bucket, slot }, raw));
                }
            }
        }
        None
    }

    /// All entries and their positions.
    pub(super) fn entries(&self) -> Vec<Found<R, M>> {
        let mut entries = Vec::with_capacity(Bucket::<R, M>::SLOTS);
        for bucket in self.chain() {
            let taken = bucket.tags().taken(Bucket::<R, M>::SLOTS);
            // SAFETY: the bucket is locked, and the slots are taken.
            entries
                .extend(taken.map(|slot| (Position { bucket, slot }, unsafe { bucket.get(slot) })));
        }
        entries
    }

    /// The home bucket itself.
    pub(super) fn home(&self) -> Bucket<R, M> {
        self.home
    }

    /// The value of the bucket's version while the bucket is locked.
    pub(super) fn seen(&self) -> Seen {
        self.seen.locked()
    }

    /// Exchanges an entry for one with an equal key.
    #[inline]
    pub(super) fn replace(&mut self, position: &Position<R, M>, raw: R) {
        self.changed = true;
        // SAFETY: the bucket is locked.
        unsafe { position.bucket.set(position.slot, raw) };
    }

    /// Adds an entry whose key is not in the table yet.
    #[inline]
    pub(super) fn add(&mut self, tag: u8, raw: R) {
        self.changed = true;
        // SAFETY: the bucket is locked.
        if unsafe { self.home.put(tag, raw) }.is_none() {
            self.add_behind(tag, raw);
        }
    }

    /// Adds an entry to a bucket behind the home bucket. Of these buckets, only the first may have
    /// vacant slots.
    #[cold]
    fn add_behind(&mut self, tag: u8, raw: R) {
        let next = self.home.next();
        // SAFETY: the bucket is locked with its home.
        if next.is_some_and(|next| unsafe { next.put(tag, raw) }.is_some()) {
            return;
        }
        // SAFETY: the bucket is one of the table's, and belongs to this home now. Readers that
        // still know it from another home find that home changed.
        unsafe {
            let bucket = Bucket::<R, M>::at(self.directory.behind());
            bucket.begin(0);
            bucket.set_next(next.map(Bucket::place));
            bucket.put(tag, raw);
            self.home.set_next(Some(bucket.place()));
        }
    }

    /// Removes an entry.
    #[inline]
    pub(super) fn remove(&mut self, position: &Position<R, M>) {
        self.changed = true;
        // SAFETY: the bucket is locked.
        unsafe { position.bucket.vacate(position.slot) };
        if self.home.next().is_some() {
            self.fill(position.bucket);
        }
    }

    /// Fills a bucket's vacant slot with an entry of the first bucket behind the home bucket. Gives
    /// that bucket back if it is empty afterwards.
    #[cold]
    fn fill(&mut self, bucket: Bucket<R, M>) {
        let Some(behind) = self.home.next() else { return };
        let last = behind.tags().taken(Bucket::<R, M>::SLOTS).last();
        if let Some(last) = last.filter(|_| bucket.place() != behind.place()) {
            // SAFETY: the buckets are locked with their home, and the slot is taken.
            unsafe {
                let raw = behind.get(last);
                bucket.put(behind.tags().at(last), raw);
                behind.vacate(last);
            }
        }
        if behind.tags().taken(Bucket::<R, M>::SLOTS).next().is_none() {
            // SAFETY: the home is locked.
            unsafe { self.home.set_next(behind.next().map(Bucket::place)) };
            self.directory.spare(behind);
        }
    }

    /// Gives a sibling the entries whose hashes have bit `depth` set. All hashes are computed
    /// before anything is changed, since computing one may panic.
    pub(super) fn split(&mut self, sibling: &mut Self, depth: u32, hash: impl Fn(&R) -> u64) {
        let goes = |raw: &R| hash(raw) >> depth & 1 == 1;
        if self.home.next().is_some() {
            let entries = self.entries();
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(position, raw)| (position.bucket.tags().at(position.slot), goes(&raw), raw))
                .collect();
            sibling.begin(depth + 1);
            self.begin(depth + 1);
            for (tag, goes, raw) in entries {
                let side = if goes { &mut *sibling } else { &mut *self };
                side.add(tag, raw);
            }
            return;
        }
        let tags = self.home.tags();
        let mut leaving = Slots::NONE;
        for slot in tags.taken(Bucket::<R, M>::SLOTS) {
            // SAFETY: the bucket is locked, and the slot is taken.
            if goes(&unsafe { self.home.get(slot) }) {
                leaving.add(slot);
            }
        }
        sibling.begin(depth + 1);
        self.changed = true;
        for slot in leaving {
            // SAFETY: as above.
            let raw = unsafe { self.home.get(slot) };
            sibling.add(tags.at(slot), raw);
            // SAFETY: as above.
            unsafe { self.home.vacate(slot) };
        }
        // SAFETY: the bucket is locked.
        unsafe { self.home.deepen(depth + 1) };
    }

    /// Removes an entry, and leaves the buckets behind as they are until [`tidy`](Self::tidy).
    pub(super) fn vacate(&mut self, position: &Position<R, M>) {
        self.changed = true;
        // SAFETY: the bucket is locked.
        unsafe { position.bucket.vacate(position.slot) };
    }

    /// Moves entries forward, and gives back buckets behind that are empty then.
    pub(super) fn tidy(&mut self) {
        if self.home.next().is_none() || !self.changed {
            return;
        }
        let tag = |position: &Position<R, M>| position.bucket.tags().at(position.slot);
        let entries: Vec<_> =
            self.entries().into_iter().map(|(position, raw)| (tag(&position), raw)).collect();
        self.begin(self.depth().unwrap_or_default());
        entries.into_iter().for_each(|(tag, raw)| self.add(tag, raw));
    }

    /// Empties the bucket, gives back those behind it, and sets the depth.
    pub(super) fn begin(&mut self, depth: u32) {
        self.changed = true;
        let mut next = self.home.next();
        // SAFETY: the home is locked.
        unsafe {
            self.home.set_next(None);
            self.home.begin(depth);
        }
        while let Some(bucket) = next {
            next = bucket.next();
            self.directory.spare(bucket);
        }
    }
}
