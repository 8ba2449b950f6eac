//! All buckets of a table, which grows without moving one: memory for as many again comes behind.
//!
//! Bucket `i` has the keys whose hashes end in `i`. When the table doubles, nothing is moved yet:
//! the new upper half's buckets were never used, and what belongs there is still in the lower
//! half, in the bucket with one bit less. Whoever writes next to such a bucket splits it. So no
//! operation has to wait for the whole table, and readers find their way by the buckets' depths.
//!
//! Buckets stay where they are until the table goes. So readers need no protection from memory
//! that is given back, and the memory in use is never more than the largest size needed.
//!
//! Source: Litwin, "Linear Hashing" (1980), for growing by splitting; Fagin and others,
//! "Extendible Hashing" (1979), for depths.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};
use std::vec::Vec;

use super::bucket::{Bucket, Head};
use crate::Mutex;
use crate::memory::Padded;

/// How often the memory can double: more than addresses have bits for.
const SEGMENTS: usize = 48;
/// The least number of buckets, as a power of two.
const FEWEST: u32 = 2;
/// A table doubles when one of so many buckets has another behind it. With keys spread at random
/// that is when about three quarters of the slots are taken, in buckets of 14.
const CROWDED: usize = 8;

pub(super) struct Directory<R> {
    /// There are two to the power of this many buckets.
    bits: AtomicU32,
    first_bits: u32,
    /// Where bucket 0 would be, were the segment's buckets to follow it. The first has all
    /// buckets there were at first, and each other one as many as all before.
    segments: [AtomicPtr<Head>; SEGMENTS],
    rare: Padded<Rare>,
    slots: PhantomData<R>,
}

/// What is written when a bucket is too small, or the table.
struct Rare {
    /// How many buckets stand behind others.
    behind: AtomicUsize,
    /// Those that stood behind others and don't any more; and the right to add a segment.
    spare: Mutex<Vec<NonNull<Head>>>,
    /// All that were ever made to stand behind others.
    made: Mutex<Vec<NonNull<Head>>>,
}

// SAFETY: the memory is shared as the buckets in it allow, and given back by the last owner.
unsafe impl<R> Sync for Directory<R> {}
// SAFETY: as above.
unsafe impl<R> Send for Directory<R> {}

/// The lower bits of a hash.
#[inline]
pub(super) fn mask(bits: u32) -> usize {
    (1 << bits) - 1
}

impl<R> Directory<R> {
    /// Buckets for so many entries.
    pub(super) fn new(capacity: usize) -> Self {
        let buckets = capacity.saturating_mul(4) / (Bucket::<R>::SLOTS * 3);
        let bits = buckets.next_power_of_two().trailing_zeros().max(FEWEST);
        let memory = Bucket::<R>::allocate(1 << bits);
        let directory = Self {
            bits: AtomicU32::new(bits),
            first_bits: bits,
            segments: [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS],
            rare: Padded(Rare {
                behind: AtomicUsize::new(0),
                spare: Mutex::new(Vec::new()),
                made: Mutex::new(Vec::new()),
            }),
            slots: PhantomData,
        };
        // Relaxed: nobody else knows it yet.
        directory.segments[0].store(memory.as_ptr(), Relaxed);
        for at in 0..1 << bits {
            // SAFETY: nobody else knows it yet.
            unsafe { directory.bucket(at).begin(bits) };
        }
        directory
    }

    /// There are two to the power of this many buckets; by now perhaps more.
    #[inline]
    pub(super) fn bits(&self) -> u32 {
        // Acquire: pairs with the Release in `grow`: their memory is there.
        self.bits.load(Acquire)
    }

    /// A bucket, by a number that is or was less than two to the power of [`bits`](Self::bits),
    /// or was another bucket's validated depth.
    #[inline]
    pub(super) fn bucket(&self, at: usize) -> Bucket<R> {
        // In a table that has not grown the segment does not follow from the number, so that the
        // bucket's memory is asked for some cycles earlier. Relaxed: it is only that.
        let first = self.bits.load(Relaxed) == self.first_bits && at >> self.first_bits == 0;
        let segment = match first {
            true => 0,
            false => usize::BITS - (at >> self.first_bits).leading_zeros(),
        };
        // Acquire: pairs with the Release in `grow`.
        let start = self.segments[segment as usize].load(Acquire);
        let head = start.wrapping_byte_add(at.wrapping_mul(Bucket::<R>::SIZE));
        debug_assert!(!start.is_null(), "bucket {at} has memory");
        // SAFETY: the bucket has memory, by the caller's promise, and it stays.
        unsafe { Bucket::at(NonNull::new_unchecked(head)) }
    }

    /// The bucket that a bucket's keys are in as long as it was never used; not for the first.
    #[inline]
    pub(super) fn parent(at: usize) -> usize {
        at & !(1 << at.ilog2())
    }

    /// Doubles the table, unless somebody has.
    fn grow(&self, bits: u32) {
        let _right = self.rare.made.lock();
        let segment = (bits + 1 - self.first_bits) as usize;
        if self.bits() != bits || segment >= SEGMENTS {
            return;
        }
        let memory = Bucket::<R>::allocate(1 << bits).as_ptr();
        let start = memory.wrapping_byte_sub(Bucket::<R>::SIZE << bits);
        // Release: pairs with the Acquire in `bucket`.
        self.segments[segment].store(start, Release);
        // Release: pairs with the Acquire in `bits`.
        self.bits.store(bits + 1, Release);
    }

    /// A bucket to stand behind another, without entries. Makes the table larger if there are
    /// many such.
    pub(super) fn behind(&self) -> NonNull<Head> {
        // Relaxed: a number and nothing else.
        let behind = self.rare.behind.fetch_add(1, Relaxed) + 1;
        let bits = self.bits();
        if behind > 1 << bits.saturating_sub(CROWDED.ilog2()) {
            self.grow(bits);
        }
        let spare = self.rare.spare.with(Vec::pop);
        spare.unwrap_or_else(|| {
            let made = Bucket::<R>::allocate(1);
            self.rare.made.with(|all| all.push(made));
            made
        })
    }

    /// Takes a bucket back that stands behind no other any more.
    pub(super) fn spare(&self, bucket: Bucket<R>) {
        // Relaxed: a number and nothing else.
        self.rare.behind.fetch_sub(1, Relaxed);
        self.rare.spare.with(|spare| spare.push(bucket.address()));
    }

    /// The bytes of all buckets.
    pub(super) fn bytes(&self) -> usize {
        let behind = self.rare.made.with(|made| made.len());
        ((1 << self.bits()) + behind) * Bucket::<R>::SIZE
    }
}

impl<R> Drop for Directory<R> {
    fn drop(&mut self) {
        let first_bits = self.first_bits;
        for (segment, start) in (0..).zip(&mut self.segments) {
            let (before, count) = match segment {
                0 => (0, 1 << first_bits),
                _ => (1 << (first_bits + segment - 1), 1 << (first_bits + segment - 1)),
            };
            let start = *start.get_mut();
            if !start.is_null() {
                let memory: *mut Head = start.wrapping_byte_add(before * Bucket::<R>::SIZE);
                // SAFETY: as many were allocated, and nobody uses them any more.
                unsafe { Bucket::<R>::free(memory, count) };
            }
        }
        for bucket in self.rare.made.get_mut().drain(..) {
            // SAFETY: as above.
            unsafe { Bucket::<R>::free(bucket.as_ptr(), 1) };
        }
    }
}
