//! A bucket: a head, and the slots behind it.
//!
//! ```text
//! | version | tags and depth | next | slot 0 | slot 1 | ...      from a cache line on
//! ```
//!
//! A full bucket has another behind it, for which its version stands too.
//!
//! Zeros are a bucket that was never used. Memory of buckets is given back with the table only, so
//! a reader may look at any bucket that it ever came to know; whether it was the right one, the
//! version says.

use std::alloc::{Layout, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use atomic_maybe_uninit::raw::{AtomicLoad, AtomicStore};

use super::pages;
use super::tags::{MOST, Tags};
use super::version::Version;
use crate::memory::{Memory, Native};

/// Buckets begin at cache lines.
const LINE: usize = 64;
/// The largest bucket of which all lines are fetched at once: one line in two is needed then.
const FETCHED: usize = 4 * LINE;
/// Tables of fewer bytes are in a core's own cache. Lines come from there so soon that to ask ahead
/// gains nothing, and each that is asked for in vain is taken from whoever has just written to it.
const NEAR: usize = 1 << 20;
/// Fewest slots of a bucket.
const FEWEST: usize = 6;
/// See `version`.
const READ: Ordering = Version::<Native>::READ;
const WRITE: Ordering = Version::<Native>::WRITE;

/// What every bucket begins with.
#[repr(C)]
pub(super) struct Head {
    version: Version<Native>,
    tags: [AtomicU64; 2],
    next: AtomicPtr<Head>,
}

/// A bucket of slots for `R`.
pub(super) struct Bucket<R> {
    head: NonNull<Head>,
    slots: PhantomData<*mut R>,
}

impl<R> Clone for Bucket<R> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Bucket<R> {}

impl<R> Bucket<R> {
    const WORDS: usize = size_of::<R>().div_ceil(size_of::<usize>());
    /// Slots to a bucket: whichever number leaves least of its lines unused, and rather more than
    /// fewer, since keys fill larger buckets more evenly.
    pub(super) const SLOTS: usize = {
        let mut best = MOST;
        let mut slots = MOST - 1;
        while slots >= FEWEST {
            if slots * Self::size(best) > best * Self::size(slots) {
                best = slots;
            }
            slots -= 1;
        }
        best
    };
    /// The bytes of a bucket.
    pub(super) const SIZE: usize = Self::size(Self::SLOTS);

    const fn size(slots: usize) -> usize {
        let bytes = size_of::<Head>() + slots * Self::WORDS * size_of::<usize>();
        bytes.next_multiple_of(LINE)
    }

    /// Memory for so many buckets.
    ///
    /// # Panics
    ///
    /// If it is more than can be addressed.
    fn layout(count: usize) -> Layout {
        let bytes = count.checked_mul(Self::SIZE);
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, LINE).ok());
        layout.expect("the table has more entries than can be addressed")
    }

    /// So many buckets that were never used.
    pub(super) fn allocate(count: usize) -> NonNull<Head> {
        let layout = Self::layout(count);
        // SAFETY: a bucket has a size.
        let memory = unsafe { pages::allocate(layout) };
        NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// Gives the memory of buckets back.
    ///
    /// # Safety
    ///
    /// There are so many, from [`allocate`](Self::allocate), and nobody uses them any more.
    pub(super) unsafe fn free(first: *mut Head, count: usize) {
        // SAFETY: our caller's promise.
        unsafe { pages::free(first.cast(), Self::layout(count)) };
    }

    /// The bucket at an address.
    ///
    /// # Safety
    ///
    /// There is one, in memory from [`allocate`](Self::allocate), which outlives the result.
    #[inline]
    pub(super) unsafe fn at(head: NonNull<Head>) -> Self {
        Self { head, slots: PhantomData }
    }

    /// Whether the lines of a bucket are worth asking for at once, if there are two to the power of
    /// so many: all are if it is small, and none if the table is.
    #[inline]
    pub(super) fn worth_fetching(bits: u32) -> bool {
        Self::SIZE <= FETCHED && bits > (NEAR / Self::SIZE).ilog2()
    }

    /// All its lines.
    #[inline]
    fn lines<'a>(self) -> impl Iterator<Item = &'a AtomicU32> {
        // SAFETY: within the bucket's memory, all of which is atomic.
        (0..Self::SIZE / LINE)
            .map(move |line| unsafe { self.head.cast().byte_add(line * LINE).as_ref() })
    }

    /// Asks for its lines at once, before it is known which slot is needed.
    #[inline]
    pub(super) fn fetch(self) {
        self.lines().skip(1).for_each(Native::prefetch);
    }

    /// The same to write. A lock keeps whatever comes after it from being fetched before.
    #[inline]
    pub(super) fn fetch_for_write(self) {
        self.lines().for_each(Native::prefetch_for_write);
    }

    pub(super) fn address(self) -> NonNull<Head> {
        self.head
    }

    #[inline]
    fn head<'a>(self) -> &'a Head {
        // SAFETY: the memory outlives the bucket, as said in `at`, and all of it is atomic.
        unsafe { self.head.as_ref() }
    }

    #[inline]
    pub(super) fn version<'a>(self) -> &'a Version<Native> {
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
        // Relaxed: only whoever has the lock writes.
        let [first, second] = &self.head().tags;
        let tags = Tags([first.load(Relaxed), second.load(Relaxed)]);
        self.head().tags[slot / 8].store(tags.replaced(slot, tag), WRITE);
    }

    #[inline]
    pub(super) fn next(self) -> Option<Self> {
        // READ: an Acquire as well, so that the bucket is seen as it was when it was linked.
        let next = NonNull::new(self.head().next.load(READ))?;
        Some(Self { head: next, slots: PhantomData })
    }

    /// # Safety
    ///
    /// As for [`at`](Self::at).
    pub(super) unsafe fn set_next(self, next: Option<NonNull<Head>>) {
        let next = next.map_or(ptr::null_mut(), NonNull::as_ptr);
        // WRITE: a Release as well, which pairs with the Acquire in `next`.
        self.head().next.store(next, WRITE);
    }

    #[inline]
    fn word(self, place: usize, word: usize) -> *mut MaybeUninit<usize> {
        debug_assert!(place < Self::SLOTS && word < Self::WORDS, "a place of this bucket");
        // SAFETY: it is within the bucket's memory, for which the head's pointer stands.
        unsafe { self.head.add(1).cast().add(place * Self::WORDS + word).as_ptr() }
    }

    /// Copies a slot. What is copied is an entry only if the version says that no writer was
    /// there, and the slot was taken.
    #[inline]
    pub(super) fn copy(self, place: usize, order: Ordering) -> MaybeUninit<R> {
        let mut raw = MaybeUninit::<R>::uninit();
        let bytes = raw.as_mut_ptr().cast::<MaybeUninit<u8>>();
        for word in 0..Self::WORDS {
            let from = self.word(place, word);
            // SAFETY: an aligned word of the bucket's memory, all accesses to which are atomic.
            let value = unsafe { usize::atomic_load(from, order) };
            let at = word * size_of::<usize>();
            let count = size_of::<usize>().min(size_of::<R>() - at);
            // SAFETY: these bytes are within the value, and within the word.
            unsafe { ptr::copy_nonoverlapping((&raw const value).cast(), bytes.add(at), count) };
        }
        raw
    }

    /// The entry of a taken slot.
    ///
    /// # Safety
    ///
    /// The bucket is locked, and the slot is taken.
    #[inline]
    pub(super) unsafe fn get(self, place: usize) -> R {
        // SAFETY: nobody else writes, and there is an entry.
        unsafe { self.copy(place, READ).assume_init() }
    }

    /// Writes a slot.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    #[inline]
    pub(super) unsafe fn set(self, place: usize, raw: R) {
        let raw = MaybeUninit::new(raw);
        let bytes = raw.as_ptr().cast::<MaybeUninit<u8>>();
        for word in 0..Self::WORDS {
            let mut value = MaybeUninit::<usize>::uninit();
            let at = word * size_of::<usize>();
            let count = size_of::<usize>().min(size_of::<R>() - at);
            // SAFETY: these bytes are within the value, and within the word.
            unsafe { ptr::copy_nonoverlapping(bytes.add(at), (&raw mut value).cast(), count) };
            // SAFETY: an aligned word of the bucket's memory, all accesses to which are atomic.
            unsafe { usize::atomic_store(self.word(place, word), value, WRITE) };
        }
    }

    /// Writes a vacant slot, if there is one, and says which.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    #[inline]
    pub(super) unsafe fn put(self, tag: u8, raw: R) -> Option<usize> {
        let place = self.tags().vacancy(Self::SLOTS)?;
        // SAFETY: the bucket is locked.
        unsafe { self.set(place, raw) };
        self.set_tag(place, tag);
        Some(place)
    }

    /// Makes a slot vacant.
    ///
    /// # Safety
    ///
    /// The bucket is locked.
    #[inline]
    pub(super) unsafe fn vacate(self, place: usize) {
        self.set_tag(place, 0);
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
    /// The bucket is locked, or nobody else knows it.
    pub(super) unsafe fn begin(self, depth: u32) {
        let Tags([first, second]) = Tags::none(depth);
        self.head().tags[0].store(first, WRITE);
        self.head().tags[1].store(second, WRITE);
    }
}
