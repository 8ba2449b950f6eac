//! A bucket: a block whose head has the version, the tags with the depth, and a link.
//!
//! A bucket that is too small has others behind it, in a chain. The first bucket's version covers
//! these too.
//!
//! Blocks are freed only with the table, so a reader may read any bucket that it ever knew. The
//! version says whether it was the right one.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::{self, Relaxed};

use bytemuck::Zeroable;

use super::tags::{MOST, Tags};
use super::version::Version;
use crate::memory::{BlockHead, Blocks, Link, Long, LongMemory, Memory, Native};

/// The size in bytes of the largest bucket whose lines are all prefetched at once. Of these lines,
/// one in two is needed.
const FETCHED: usize = 256;
/// Tables of fewer bytes than this are in a core's own cache. Lines arrive from there so quickly
/// that prefetching gains nothing, and each line that is prefetched too early is taken from the
/// thread that has just written to it.
const NEAR: usize = 1 << 20;
/// The orderings with which a bucket's words are read and written: those of `version`.
const READ: Ordering = Version::<Native>::READ;
const WRITE: Ordering = Version::<Native>::WRITE;

/// The head of every bucket. A head of zeros is that of a bucket that was never used.
#[repr(C)]
pub struct Head<M: LongMemory> {
    version: Version<M>,
    tags: [M::Long; 2],
    next: M::Link<Self>,
}

impl<M: LongMemory> Default for Head<M> {
    fn default() -> Self {
        Self {
            version: Version::default(),
            tags: [M::Long::default(), M::Long::default()],
            next: M::Link::default(),
        }
    }
}

impl<M: LongMemory> fmt::Debug for Head<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<M: LongMemory> BlockHead for Head<M> {
    const MOST: usize = MOST;
}

// SAFETY: words and a link, which may all be zero.
unsafe impl<M: LongMemory<Long: Zeroable>> Zeroable for Head<M> where M::Link<Self>: Zeroable {}

/// A memory in which a table's buckets can be, with slots for `R`.
pub trait Buckets<R: Copy>: Blocks<Head<Self>, R> {}

impl<R: Copy, M: Blocks<Head<M>, R>> Buckets<R> for M {}

/// The address of a bucket.
pub(super) type At<M> = <M as Memory>::Ref<Head<M>>;

/// A bucket of slots for `R`.
pub(super) struct Bucket<R: Copy, M: Buckets<R>> {
    at: At<M>,
    slots: PhantomData<*mut R>,
}

impl<R: Copy, M: Buckets<R>> Clone for Bucket<R, M> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Copy, M: Buckets<R>> Copy for Bucket<R, M> {}

impl<R: Copy, M: Buckets<R>> Bucket<R, M> {
    /// The number of slots to a bucket.
    pub(super) const SLOTS: usize = M::SLOTS;

    /// The bucket at this address.
    ///
    /// # Safety
    ///
    /// The bucket exists, in a row that outlives the result.
    #[inline]
    pub(super) unsafe fn at(at: At<M>) -> Self {
        Self { at, slots: PhantomData }
    }

    /// Whether the lines of a bucket are worth prefetching at once, in a table of 2^`bits` buckets:
    /// yes if a bucket is small and the table is not.
    #[inline]
    pub(super) fn worth_fetching(bits: u32) -> bool {
        M::BYTES <= FETCHED && bits > (NEAR / M::BYTES).ilog2()
    }

    /// Prefetches the bucket's lines at once, before it is known which slot is needed.
    #[inline]
    pub(super) fn fetch(self) {
        M::fetch(self.at);
    }

    /// Prefetches the bucket's lines at once, for writing. Otherwise they would be fetched only
    /// after the lock was taken.
    #[inline]
    pub(super) fn fetch_for_write(self) {
        M::fetch_for_write(self.at);
    }

    pub(super) fn place(self) -> At<M> {
        self.at
    }

    #[inline]
    fn head<'a>(self) -> &'a Head<M> {
        // SAFETY: its row outlives the bucket, as said in `at`.
        unsafe { M::follow(self.at) }
    }

    #[inline]
    pub(super) fn version<'a>(self) -> &'a Version<M> {
        &self.head().version
    }

    #[inline]
    pub(super) fn tags(self) -> Tags {
        let [first, second] = &self.head().tags;
        Tags([first.load(READ), second.load(READ)])
    }

    /// Writes the tag of a slot; 0 makes it vacant.
    #[inline]
    fn set_tag(self, slot: usize, tag: u8) {
        // Relaxed: only the thread that has the lock writes.
        let [first, second] = &self.head().tags;
        let tags = Tags([first.load(Relaxed), second.load(Relaxed)]);
        self.head().tags[slot / 8].store(tags.replaced(slot, tag), WRITE);
    }

    #[inline]
    pub(super) fn next(self) -> Option<Self> {
        // READ: an Acquire as well, so that the bucket is seen as it was when it was linked.
        let next = self.head().next.load(READ)?;
        // SAFETY: a linked bucket lives as long as the table.
        Some(unsafe { Self::at(next) })
    }

    /// # Safety
    ///
    /// Same requirements as [`at`](Self::at); the bucket is locked, or no other thread knows it.
    pub(super) unsafe fn set_next(self, next: Option<At<M>>) {
        // WRITE: a Release as well, which pairs with the Acquire in `next`.
        self.head().next.store(next, WRITE);
    }

    /// Copies a slot. The copy is an entry only if the version shows that no writer was there, and
    /// the slot was taken.
    #[inline]
    pub(super) fn copy(self, slot: usize, order: Ordering) -> MaybeUninit<R> {
        // SAFETY: its row outlives the bucket, and only existing slots have tags.
        unsafe { M::copy(self.at, slot, order) }
    }

    /// The entry of a taken slot.
    ///
    /// # Safety
    ///
    /// The bucket is locked, and the slot is taken.
    #[inline]
    pub(super) unsafe fn get(self, slot: usize) -> R {
        // SAFETY: no other thread writes, and there is an entry.
        unsafe { self.copy(slot, READ).assume_init() }
    }

    /// Writes a slot.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    #[inline]
    pub(super) unsafe fn set(self, slot: usize, raw: R) {
        // SAFETY: no other thread writes.
        unsafe { M::set(self.at, slot, raw, WRITE) };
    }

    /// Writes a vacant slot, and returns its number; `None` if no slot is vacant.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    #[inline]
    pub(super) unsafe fn put(self, tag: u8, raw: R) -> Option<usize> {
        let slot = self.tags().vacancy(Self::SLOTS)?;
        // SAFETY: the bucket is locked.
        unsafe { self.set(slot, raw) };
        self.set_tag(slot, tag);
        Some(slot)
    }

    /// Makes a slot vacant.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    #[inline]
    pub(super) unsafe fn vacate(self, slot: usize) {
        self.set_tag(slot, 0);
    }

    /// Sets the depth.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    pub(super) unsafe fn deepen(self, depth: u32) {
        self.head().tags[1].store(self.tags().deepened(depth), WRITE);
    }

    /// Makes all slots vacant, and sets the depth.
    ///
    /// # Safety
    ///
    /// The bucket is locked, or no other thread knows it.
    pub(super) unsafe fn begin(self, depth: u32) {
        let Tags([first, second]) = Tags::none(depth);
        self.head().tags[0].store(first, WRITE);
        self.head().tags[1].store(second, WRITE);
    }
}
