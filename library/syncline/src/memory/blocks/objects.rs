//! Blocks whose words are objects, made one by one: for checkers and simulators.
//!
//! As in native memory, the head comes first, and then a [`Long`] for each word of each slot. The
//! head and each [`Long`] take as many bytes as their types have. The memory decides where a row
//! is, and how many slots a block has.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use super::{BlockHead, Blocks, LINE, Words};
pub use super::{bytes, slots};
use crate::memory::long::{Long, LongMemory};

/// The bytes of a slot.
pub const fn slot<R: Words, M: LongMemory>() -> usize {
    assert!(align_of::<M::Long>() <= 8);
    R::WORDS * size_of::<M::Long>()
}

/// The bytes of a head. The slots' words begin after the head.
pub const fn head<H>() -> usize {
    size_of::<H>().next_multiple_of(8)
}

/// The layout of a row's memory.
///
/// # Panics
///
/// If the row is larger than can be addressed.
pub fn layout<H: BlockHead, R: Words, M: Blocks<H, R>>(count: usize) -> Layout {
    let bytes = M::BYTES.checked_mul(count);
    let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, LINE).ok());
    layout.expect("the table has more entries than can be addressed")
}

/// The block that comes `number` blocks after this one.
pub fn further<H: BlockHead, R: Words, M: Blocks<H, R>>(
    block: NonNull<H>,
    number: usize,
) -> NonNull<H> {
    let place = block.as_ptr().wrapping_byte_add(number.wrapping_mul(M::BYTES));
    NonNull::new(place).expect("no row is at such an address")
}

/// The address of a word of a slot.
///
/// # Safety
///
/// The block exists, and has this slot.
unsafe fn word<H: BlockHead, R: Words, M: Blocks<H, R>>(
    block: NonNull<H>,
    slot: usize,
    word: usize,
) -> NonNull<M::Long> {
    assert!(slot < M::SLOTS && word < R::WORDS, "a word of the block");
    // SAFETY: it is within the block, by our caller's promise.
    unsafe { block.byte_add(head::<H>()).cast().add(slot * R::WORDS + word) }
}

/// All words of a block's slots.
fn all_words<H: BlockHead, R: Words, M: Blocks<H, R>>(
    block: NonNull<H>,
) -> impl Iterator<Item = NonNull<M::Long>> {
    let places = (0..M::SLOTS).flat_map(|slot| (0..R::WORDS).map(move |word| (slot, word)));
    // SAFETY: our callers promise that there is a block.
    places.map(move |(slot, at)| unsafe { word::<H, R, M>(block, slot, at) })
}

/// Creates the heads and all words of a row.
///
/// # Safety
///
/// The memory has the layout [`layout`], and no other thread uses it.
pub unsafe fn make<H: BlockHead, R: Words, M: Blocks<H, R>>(first: NonNull<H>, count: usize) {
    for block in (0..count).map(|number| further::<H, R, M>(first, number)) {
        // SAFETY: within the row, which is ours.
        unsafe { block.write(H::default()) };
        // SAFETY: likewise.
        all_words::<H, R, M>(block).for_each(|word| unsafe { word.write(M::Long::default()) });
    }
}

/// Drops the heads and all words of a row.
///
/// # Safety
///
/// The blocks were made, and no thread uses them any more.
pub unsafe fn end<H: BlockHead, R: Words, M: Blocks<H, R>>(first: NonNull<H>, count: usize) {
    for block in (0..count).map(|number| further::<H, R, M>(first, number)) {
        // SAFETY: our caller's promise; each is visited once.
        unsafe { block.drop_in_place() };
        // SAFETY: likewise.
        all_words::<H, R, M>(block).for_each(|word| unsafe { word.drop_in_place() });
    }
}

/// Like [`Blocks::copy`].
///
/// # Safety
///
/// Same requirements as the function of [`Blocks`] of this name.
pub unsafe fn copy<H: BlockHead, R: Words, M: Blocks<H, R>>(
    block: NonNull<H>,
    slot: usize,
    order: Ordering,
) -> MaybeUninit<R> {
    let mut at = 0..;
    let mut next = || {
        // SAFETY: our caller's promise.
        let word = unsafe { word::<H, R, M>(block, slot, at.next().unwrap_or_default()).as_ref() };
        word.load(order)
    };
    MaybeUninit::new(R::of(&mut next))
}

/// Like [`Blocks::set`].
///
/// # Safety
///
/// Same requirements as the function of [`Blocks`] of this name.
pub unsafe fn set<H: BlockHead, R: Words, M: Blocks<H, R>>(
    block: NonNull<H>,
    slot: usize,
    value: R,
    order: Ordering,
) {
    let mut at = 0..;
    value.put(&mut |value| {
        // SAFETY: our caller's promise.
        let word = unsafe { word::<H, R, M>(block, slot, at.next().unwrap_or_default()).as_ref() };
        word.store(value, order);
    });
}
