//! Words, links and data in segments, over those of the checker.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::atomic::Ordering;
use std::thread::panicking;

use syncline::memory::{Address, Data, Link, Memory, Word};

use super::storage::Position;

/// A value whose address is in a segment, and whose bytes are in the segment's storage.
///
/// Until it is moved to a segment, it is an ordinary value. A reference to a value in a segment
/// promises the compiler nothing about the bytes: they may have any value, and change at any time.
struct Stored<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    _pinned: PhantomPinned,
}

impl<T> Stored<T> {
    fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(MaybeUninit::new(value)), _pinned: PhantomPinned }
    }

    /// The address of the bytes.
    fn at(&self) -> *mut T {
        Position::of(self).map_or(self.value.get().cast(), Position::storage)
    }

    /// The value, which must belong to a live node.
    fn reached(&self) -> &T {
        let position = Position::of(self).expect("a word that lies in no segment was accessed");
        assert!(position.header().is_some(), "a word of a node that was freed was accessed");
        // SAFETY: the value was moved to the storage of its block, and the block was not freed.
        unsafe { &*position.storage() }
    }

    fn into_inner(self) -> T {
        // SAFETY: `self` owns the value. `self` is not dropped, so the value is not used twice.
        unsafe { ManuallyDrop::new(self).at().read() }
    }
}

impl<T> Drop for Stored<T> {
    fn drop(&mut self) {
        // SAFETY: `self` owns the value, and does not use it after this.
        unsafe { self.at().drop_in_place() }
    }
}

/// A word of 32 bits in a segment.
pub struct SegmentWord<M: Memory>(Stored<M::Word>);

// SAFETY: a checker's word, which may be shared.
unsafe impl<M: Memory> Sync for SegmentWord<M> {}
// SAFETY: as above.
unsafe impl<M: Memory> Send for SegmentWord<M> {}

impl<M: Memory> SegmentWord<M> {
    /// The checker's word.
    pub(super) fn reached(&self) -> &M::Word {
        self.0.reached()
    }
}

impl<M: Memory> Default for SegmentWord<M> {
    fn default() -> Self {
        Self(Stored::new(M::Word::default()))
    }
}

impl<M: Memory> fmt::Debug for SegmentWord<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SegmentWord").field(&Position::of(self)).finish()
    }
}

impl<M: Memory> Word for SegmentWord<M> {
    fn load(&self, order: Ordering) -> u32 {
        self.reached().load(order)
    }
    fn store(&self, value: u32, order: Ordering) {
        self.reached().store(value, order);
    }
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.reached().swap(value, order)
    }
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.reached().fetch_add(value, order)
    }
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.reached().fetch_sub(value, order)
    }
    fn fetch_or(&self, bits: u32, order: Ordering) -> u32 {
        self.reached().fetch_or(bits, order)
    }
    fn fetch_and(&self, bits: u32, order: Ordering) -> u32 {
        self.reached().fetch_and(bits, order)
    }
    fn exchange(&self, old: u32, new: u32, order: Ordering) -> Result<u32, u32> {
        self.reached().exchange(old, new, order)
    }
    fn address(&self) -> Address {
        self.reached().address()
    }
}

/// A reference to a node: the number of its segment, and its displacement there.
pub struct SegmentRef<T> {
    pub(super) position: Position,
    refers: PhantomData<fn() -> T>,
}

impl<T> SegmentRef<T> {
    pub(super) fn to(position: Position) -> Self {
        Self { position, refers: PhantomData }
    }
}

impl<T> Clone for SegmentRef<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SegmentRef<T> {}

impl<T> PartialEq for SegmentRef<T> {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl<T> Eq for SegmentRef<T> {}

/// A reference to a node, or none: a word that holds the position.
pub struct SegmentLink<M: Memory, T> {
    word: SegmentWord<M>,
    refers: PhantomData<fn() -> T>,
}

impl<M: Memory, T> Default for SegmentLink<M, T> {
    fn default() -> Self {
        Self { word: SegmentWord::default(), refers: PhantomData }
    }
}

impl<M: Memory, T> fmt::Debug for SegmentLink<M, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SegmentLink").field(&Position::of(self)).finish()
    }
}

fn bits<T>(node: Option<SegmentRef<T>>) -> u32 {
    node.map_or(0, |node| node.position.bits())
}

fn reference<T>(bits: u32) -> Option<SegmentRef<T>> {
    Position::from_bits(bits).map(SegmentRef::to)
}

impl<M: Memory, T> Link<SegmentRef<T>> for SegmentLink<M, T> {
    fn load(&self, order: Ordering) -> Option<SegmentRef<T>> {
        // A failed execution frees nothing, and its words may be gone.
        if panicking() {
            return None;
        }
        reference(self.word.load(order))
    }
    fn store(&self, node: Option<SegmentRef<T>>, order: Ordering) {
        self.word.store(bits(node), order);
    }
    fn swap(&self, node: Option<SegmentRef<T>>, order: Ordering) -> Option<SegmentRef<T>> {
        reference(self.word.swap(bits(node), order))
    }
    fn exchange(
        &self,
        old: Option<SegmentRef<T>>,
        new: Option<SegmentRef<T>>,
        order: Ordering,
    ) -> bool {
        self.word.exchange(bits(old), bits(new), order).is_ok()
    }
}

/// Ordinary data, in a segment or elsewhere.
pub struct SegmentData<M: Memory, T>(Stored<M::Data<T>>);

impl<M: Memory, T> SegmentData<M, T> {
    /// The checker's data.
    pub(super) fn reached(&self) -> &M::Data<T> {
        // SAFETY: `self` owns the value; the checker's data checks the accesses.
        unsafe { &*self.0.at() }
    }
}

impl<M: Memory, T> Data<T> for SegmentData<M, T> {
    fn new(value: T) -> Self {
        Self(Stored::new(Data::new(value)))
    }
    unsafe fn with<R>(&self, access: impl FnOnce(*mut T) -> R) -> R {
        // SAFETY: our caller's promise.
        unsafe { self.reached().with(access) }
    }
    unsafe fn look<R>(&self, access: impl FnOnce(*const T) -> R) -> R {
        // SAFETY: our caller's promise.
        unsafe { self.reached().look(access) }
    }
    fn into_inner(self) -> T {
        self.0.into_inner().into_inner()
    }
}

/// Whether an object lies in a segment other than this one; `false` if it lies in no segment.
pub(super) fn is_remote<T>(what: &T, segment: usize) -> bool {
    Position::of(ptr::from_ref(what)).is_some_and(|position| position.segment() != segment)
}
