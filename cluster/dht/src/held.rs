//! A bucket that this rank has locked, and the repair of a bucket whose holder has died.
//!
//! If a rank dies while it changes one slot, the bucket is in the state before the change or in the
//! state after it, and nothing needs repair. A split has more steps, which are done in this order
//! (`split`). Meanwhile both buckets are marked as split:
//!
//! 1. the new bucket's slots,
//! 2. its depth: from here on it is in use,
//! 3. the old bucket's depth,
//! 4. the old bucket's slots: those whose entries have moved are vacated,
//! 5. the old bucket is released,
//! 6. the new bucket is released.
//!
//! If the new bucket is in use when its holder dies, the split is finished from step 3. Otherwise
//! the split has not begun, and the next one begins at step 1. The new bucket stays unchanged until
//! step 5 is done. Otherwise entries that have moved could be freed while the old bucket's slots
//! still refer to them, and step 4 would read the hash of another entry. So a rank that finds that
//! a dead rank holds a new bucket repairs the old bucket first.

use syncline_fabric::{Dead, Fabric, Position};

use crate::entry;
use crate::layout::{HEAD, Link, SLOTS, Slot, Version};
use crate::look::{Bucket, line, slot_place};
use crate::mode::Mode;
use crate::table::Table;
use crate::wait::Wait;

/// A bucket that this rank has locked. When this value is dropped, the bucket is released: with the
/// next version if a word was stored, and otherwise with the version that it had.
pub(crate) struct Held<'t, F: Fabric, M: Mode<F>> {
    table: &'t Table<F, M>,
    place: Position,
    held: Version,
    changed: bool,
}

impl<'t, F: Fabric, M: Mode<F>> Held<'t, F, M> {
    /// A bucket that this rank has locked, and that it will release with the next version.
    pub fn new(table: &'t Table<F, M>, place: Position, held: Version) -> Self {
        Held { table, place, held, changed: true }
    }

    /// Writes a word of the bucket.
    pub fn store(&mut self, at: Position, word: u64) -> Result<(), Dead> {
        self.changed = true;
        self.table.fabric.store(at, word)
    }
}

impl<F: Fabric, M: Mode<F>> Drop for Held<'_, F, M> {
    #[inline]
    fn drop(&mut self) {
        if M::FINE {
            let free = if self.changed { self.held.next() } else { self.held.free() };
            // If the bucket's rank is dead, so is the bucket, and the next operation returns that
            // error.
            let _ = self.table.fabric.store(self.place, free.0);
        }
    }
}

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// Locks a bucket to change one word of it. `None` if the bucket has changed since it was read,
    /// or if another rank holds it.
    #[inline]
    pub(crate) fn hold(&self, bucket: &Bucket) -> Result<Option<Held<'_, F, M>>, Dead> {
        self.exchange(bucket, bucket.seen.held(self.fabric.rank()))
    }

    /// Locks a bucket to change more than one word of it. `None` if the bucket has changed since it
    /// was read, or if another rank holds it.
    pub(crate) fn hold_to_split(&self, bucket: &Bucket) -> Result<Option<Held<'_, F, M>>, Dead> {
        self.exchange(bucket, bucket.seen.split(self.fabric.rank()))
    }

    #[inline]
    fn exchange(&self, bucket: &Bucket, held: Version) -> Result<Option<Held<'_, F, M>>, Dead> {
        let free = bucket.seen.free().0;
        if M::FINE && self.fabric.compare_and_swap(bucket.place, free, held.0)? != free {
            return Ok(None);
        }
        Ok(Some(Held { table: self, place: bucket.place, held, changed: false }))
    }

    /// Pauses because a bucket is held. Takes the bucket over if its holder has died.
    #[cold]
    pub(crate) fn wait(&self, wait: &mut Wait, bucket: &Bucket) -> Result<(), Dead> {
        if wait.pause(&self.fabric, bucket.place, bucket.seen) {
            self.take_over(bucket)?;
        }
        Ok(())
    }

    /// Releases a bucket whose holder is dead, and finishes its split if it was being split. Leaves
    /// the bucket as it is if another rank was faster, or if the bucket from which it was split is
    /// itself marked as split. In the latter case, takes that bucket over if its holder is dead.
    #[cold]
    fn take_over(&self, bucket: &Bucket) -> Result<(), Dead> {
        let Bucket { number, place, seen, .. } = *bucket;
        let link = Link(self.fabric.load(place.plus(8))?);
        let depth = self.layout.depth(number, link);
        let Some(depth) = depth.filter(|_| seen.is_split()) else {
            self.fabric.compare_and_swap(place, seen.0, seen.next().0)?;
            return Ok(());
        };
        if !self.came_from_is_mended(bucket)? {
            return Ok(());
        }
        let mine = seen.split(self.fabric.rank());
        if self.fabric.compare_and_swap(place, seen.0, mine.0)? != seen.0 {
            return Ok(());
        }
        let mut held = Held::new(self, place, mine);
        let depth = self.finish_split(&mut held, bucket, link, depth)?;
        self.vacate_moved(&mut held, bucket, depth)
    }

    /// Whether the bucket from which this one was split is no longer being split. If a dead rank
    /// has marked that bucket as split, takes that bucket over and returns `false`.
    fn came_from_is_mended(&self, bucket: &Bucket) -> Result<bool, Dead> {
        let Bucket { number, place, .. } = *bucket;
        if number >> self.layout.bits == 0 {
            return Ok(true);
        }
        let number = number ^ 1 << number.ilog2();
        let place = self.rows.bucket(&self.fabric, place.rank, number)?;
        let seen = Version(self.fabric.load(place)?);
        if !seen.is_split() {
            return Ok(true);
        }
        if seen.holder().is_some_and(|holder| !self.fabric.is_alive(holder)) {
            self.take_over(&Bucket { number, place, seen, ..*bucket })?;
        }
        Ok(false)
    }

    /// Does step 3 if step 2 was done. Returns the bucket's depth after that.
    fn finish_split(
        &self,
        held: &mut Held<'_, F, M>,
        bucket: &Bucket,
        link: Link,
        depth: u32,
    ) -> Result<u32, Dead> {
        let rank = bucket.place.rank;
        if self.rows.learn(&self.fabric, rank)? <= depth {
            return Ok(depth);
        }
        let sibling = bucket.number | 1 << depth;
        let there = self.rows.bucket(&self.fabric, rank, sibling)?;
        let its_link = Link(self.fabric.load(there.plus(8))?);
        if self.layout.depth(sibling, its_link).is_none() {
            return Ok(depth);
        }
        held.store(bucket.place.plus(8), link.deepened(link.depth() + 1).0)?;
        Ok(depth + 1)
    }

    /// Step 4: vacates slots whose keys now belong to another bucket.
    pub(crate) fn vacate_moved(
        &self,
        held: &mut Held<'_, F, M>,
        bucket: &Bucket,
        depth: u32,
    ) -> Result<(), Dead> {
        for (at, slot) in self.slots(bucket.place)? {
            let hash = entry::hash(&self.fabric, at.rank, slot)?;
            if hash.bucket(depth) != bucket.number {
                held.store(at, 0)?;
            }
        }
        Ok(())
    }

    /// The positions and contents of the bucket's slots that are not vacant.
    pub(crate) fn slots(&self, bucket: Position) -> Result<Vec<(Position, Slot)>, Dead> {
        let mut all = Vec::with_capacity(SLOTS);
        let mut next = Some(bucket);
        while let Some(at) = next {
            let words = line(&self.fabric, at)?;
            for (number, &word) in words[HEAD..].iter().enumerate() {
                if word != 0 {
                    all.push((slot_place(at, number), Slot(word)));
                }
            }
            next = Link(words[1]).behind(at.rank);
        }
        Ok(all)
    }
}
