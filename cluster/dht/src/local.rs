//! Iterates over the entries of one rank's part, while other ranks change it.
//!
//! During an iteration buckets may be split, but are never merged. An *ending* is a value of the
//! low bits of a hash. When the iteration begins, the iterator chooses how long its endings are: as
//! many bits as the part's bucket numbers have, as far as this rank knows. It visits all endings of
//! that length.
//!
//! For each ending, the iterator finds the bucket that holds the ending's keys at that time, and
//! copies it: in mode `Fine` between two reads of the bucket's version, in mode `Coarse` under the
//! part's lock. If the bucket's depth is less than the length of the ending, the bucket also holds
//! keys with other endings, which the iterator skips. If the bucket was split and the ending's keys
//! are now in several buckets, the iterator replaces the ending with two endings that are one bit
//! longer: one whose highest bit is 0, and one whose highest bit is 1.

use std::collections::VecDeque;

use syncline_fabric::{Dead, Fabric};

use crate::entry::Buffer;
use crate::error::Error;
use crate::key::Hash;
use crate::layout::mask;
use crate::look::Bucket;
use crate::mode::Mode;
use crate::table::Table;
use crate::wait::Wait;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// An iterator over the entries of a rank's part: see [`Table::local`].
pub struct Entries<'t, F, M> {
    table: &'t Table<F, M>,
    rank: usize,
    /// The next ending to visit, of `bits` bits.
    next: u64,
    bits: u32,
    /// The longer endings that replace one whose keys are in several buckets, with their numbers of
    /// bits. These are visited first.
    halves: Vec<(u64, u32)>,
    ready: VecDeque<Entry>,
    is_lost: bool,
}

impl<F: Fabric, M: Mode<F>> Table<F, M> {
    /// Iterates over the entries of this rank's own part.
    ///
    /// A key that is present throughout the iteration is returned exactly once, with one of the
    /// values that it had meanwhile. A key that is put or removed meanwhile is returned once or not
    /// at all. Usually, the entries of a bucket are copied together, as they were at one moment. If
    /// the bucket has been split less often than others, its entries are copied in several groups,
    /// each as it was at one moment.
    pub fn local(&self) -> Entries<'_, F, M> {
        self.entries_of(self.fabric.rank())
    }

    /// Iterates over the entries of the part of any rank, like [`local`](Self::local).
    ///
    /// # Panics
    ///
    /// If there is no such rank.
    pub fn entries_of(&self, rank: usize) -> Entries<'_, F, M> {
        assert!(rank < self.fabric.ranks(), "there is no rank {rank}");
        let bits = self.rows.bits(rank);
        let (halves, ready) = (Vec::new(), VecDeque::new());
        Entries { table: self, rank, next: 0, bits, halves, ready, is_lost: false }
    }

    /// Copies the entries whose hashes have this ending of `bits` bits; `None` if these entries are
    /// in several buckets.
    fn copy(&self, rank: usize, ending: u64, bits: u32) -> Result<Option<Vec<Entry>>, Dead> {
        let mut wait = Wait::new();
        let mut buffer = Buffer::new();
        loop {
            let (bucket, _) = self.bucket(rank, Hash(ending))?;
            if bucket.seen.is_split() {
                self.wait(&mut wait, &bucket)?;
                continue;
            }
            if bucket.depth > bits {
                return Ok(None);
            }
            if let Some(all) = self.copy_bucket(&bucket, ending, bits, &mut buffer)? {
                return Ok(Some(all));
            }
        }
    }

    /// Copies a bucket's entries with this ending; `None` if a writer has changed the bucket since
    /// it was read, or is splitting it.
    fn copy_bucket(
        &self,
        bucket: &Bucket,
        ending: u64,
        bits: u32,
        buffer: &mut Buffer,
    ) -> Result<Option<Vec<Entry>>, Dead> {
        let mut all = Vec::new();
        for (place, slot) in self.slots(bucket.place)? {
            buffer.read(&self.fabric, place.rank, slot)?;
            if let Some((key, value)) = buffer.entry()
                && Hash::of(key).0 & mask(bits) == ending
            {
                all.push((key.to_vec(), value.to_vec()));
            }
        }
        Ok(self.unchanged(bucket)?.then_some(all))
    }
}

impl<F: Fabric, M: Mode<F>> Iterator for Entries<'_, F, M> {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            if self.is_lost {
                return None;
            }
            let (ending, bits) = match self.halves.pop() {
                Some(half) => half,
                None if self.next >> self.bits != 0 => return None,
                None => {
                    self.next += 1;
                    (self.next - 1, self.bits)
                }
            };
            let copied =
                self.table.mode.reading(self.rank, || self.table.copy(self.rank, ending, bits));
            match copied {
                Ok(Some(entries)) => self.ready.extend(entries),
                Ok(None) => {
                    self.halves.extend([(ending | 1 << bits, bits + 1), (ending, bits + 1)])
                }
                Err(dead) => {
                    self.is_lost = true;
                    return Some(Err(dead.into()));
                }
            }
        }
    }
}

impl<F, M> std::fmt::Debug for Entries<'_, F, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("rank", &self.rank).finish_non_exhaustive()
    }
}
