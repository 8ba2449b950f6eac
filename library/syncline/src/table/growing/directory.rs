//! All buckets of a table. The table grows without moving a bucket: each growth adds memory for as
//! many buckets as there are.
//!
//! Bucket `i` has the keys whose hashes have the low bits `i`. When the table doubles, nothing is
//! moved yet: the buckets of the new upper half were never used, and their entries are still in the
//! lower half, in the bucket whose number lacks the highest bit. The next thread that writes to
//! that bucket splits it. So no operation has to wait for the whole table, and readers find their
//! way by the buckets' depths.
//!
//! Buckets stay where they are until the table is dropped. So readers need no protection from freed
//! memory, and the memory in use is never more than the largest size needed.
//!
//! Source: Litwin, "Linear Hashing" (1980), for growing by splitting; Fagin and others,
//! "Extendible Hashing" (1979), for depths.

use std::array;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::bucket::{At, Bucket, Buckets, Head};
use super::rare::Rare;
use crate::memory::{Link, Padded, Word};

/// The most segments. Together they have at least 2^49 buckets, more than any machine has memory
/// for.
const SEGMENTS: usize = 48;
/// The least number of buckets, as an exponent of two.
const FEWEST: u32 = 2;
/// A table doubles when it has more than one bucket behind others for every `CROWDED` buckets. With
/// random keys and buckets of 14 slots, about three quarters of the slots are taken then.
const CROWDED: usize = 8;

pub(super) struct Directory<R: Copy, M: Buckets<R>> {
    /// There are 2^`bits` buckets.
    bits: M::Word,
    first_bits: u32,
    /// For each segment, its start ([`Blocks::start`](crate::memory::Blocks::start)): the segment's
    /// bucket `i` is `i` buckets after this address. The first segment has all initial buckets, and
    /// each further one as many as all before it.
    segments: [M::Link<Head<M>>; SEGMENTS],
    rare: Padded<Rare<R, M>>,
}

// SAFETY: the memory is shared as the buckets in it allow, and freed by the last owner.
unsafe impl<R: Copy, M: Buckets<R>> Sync for Directory<R, M> {}
// SAFETY: as above.
unsafe impl<R: Copy, M: Buckets<R>> Send for Directory<R, M> {}

/// A mask of the lowest `bits` bits.
#[inline]
pub(super) fn mask(bits: u32) -> usize {
    (1 << bits) - 1
}

impl<R: Copy, M: Buckets<R>> Directory<R, M> {
    /// The initial buckets, for `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let buckets = capacity.saturating_mul(4) / (Bucket::<R, M>::SLOTS * 3);
        let bits = buckets.next_power_of_two().trailing_zeros().max(FEWEST);
        let directory = Self {
            bits: M::Word::default(),
            first_bits: bits,
            segments: array::from_fn(|_| M::Link::default()),
            rare: Padded::default(),
        };
        // Relaxed: no other thread knows it yet.
        directory.bits.store(bits, Relaxed);
        directory.segments[0].store(Some(M::allocate_row(1 << bits)), Relaxed);
        for at in 0..1 << bits {
            // SAFETY: no other thread knows it yet.
            unsafe { directory.bucket(at).begin(bits) };
        }
        directory
    }

    /// The logarithm, to base two, of the number of buckets. There may be more buckets by now.
    #[inline]
    pub(super) fn bits(&self) -> u32 {
        // Acquire: pairs with the Release in `grow`: the buckets' memory is there.
        self.bits.load(Acquire)
    }

    /// A bucket, by a number that is or was less than two to the power of [`bits`](Self::bits), or
    /// that follows from another bucket's validated depth.
    #[inline]
    pub(super) fn bucket(&self, at: usize) -> Bucket<R, M> {
        // In a table that has not grown, the segment is known without the number, so that the
        // bucket's memory is requested some cycles earlier. Relaxed: it is a hint only.
        let first = self.bits.load(Relaxed) == self.first_bits && at >> self.first_bits == 0;
        let segment = match first {
            true => 0,
            false => usize::BITS - (at >> self.first_bits).leading_zeros(),
        };
        // Acquire: pairs with the Release in `grow`.
        let start = self.segments[segment as usize].load(Acquire);
        debug_assert!(start.is_some(), "bucket {at} has memory");
        // SAFETY: the bucket has memory, by the caller's promise, and it stays.
        unsafe { Bucket::at(M::block(start, at)) }
    }

    /// The bucket that has the keys of bucket `at` as long as bucket `at` was never used. `at` must
    /// not be 0.
    #[inline]
    pub(super) fn parent(at: usize) -> usize {
        at & !(1 << at.ilog2())
    }

    /// Doubles the table, unless another thread has done so, or all segments are in use.
    fn grow(&self, bits: u32) {
        self.rare.with(|_| {
            let segment = (bits + 1 - self.first_bits) as usize;
            if self.bits() != bits || segment >= SEGMENTS {
                return;
            }
            let start = M::start(M::allocate_row(1 << bits), 1 << bits);
            // Release: pairs with the Acquire in `bucket`.
            self.segments[segment].store(Some(start), Release);
            // Release: pairs with the Acquire in `bits`.
            self.bits.store(bits + 1, Release);
        });
    }

    /// A bucket to stand behind another. It may have entries of an earlier use, so the caller
    /// begins it anew. Makes the table larger if many buckets stand behind others.
    pub(super) fn behind(&self) -> At<M> {
        let behind = self.rare.one_more();
        let bits = self.bits();
        if behind > 1 << bits.saturating_sub(CROWDED.ilog2()) {
            self.grow(bits);
        }
        self.rare.with(|lists| lists.take())
    }

    /// Takes back a bucket that is no longer behind another.
    pub(super) fn spare(&self, bucket: Bucket<R, M>) {
        self.rare.one_less();
        self.rare.with(|lists| lists.give(bucket.place()));
    }

    /// How many buckets there are, without those behind others. Never waits.
    pub(super) fn buckets(&self) -> usize {
        1 << self.bits()
    }

    /// The bytes of all buckets.
    pub(super) fn bytes(&self) -> usize {
        let behind = self.rare.with(|lists| lists.made());
        (self.buckets() + behind) * M::BYTES
    }
}

impl<R: Copy, M: Buckets<R>> Drop for Directory<R, M> {
    fn drop(&mut self) {
        for (segment, start) in (0..).zip(&self.segments) {
            // Relaxed: no other thread uses it any more.
            let Some(start) = start.load(Relaxed) else { continue };
            let (first, count) = match segment {
                0 => (0, 1 << self.first_bits),
                _ => (1 << (self.first_bits + segment - 1), 1 << (self.first_bits + segment - 1)),
            };
            // SAFETY: as many were allocated, and no thread uses them any more.
            unsafe { M::free_row(M::block(Some(start), first), count) };
        }
    }
}
