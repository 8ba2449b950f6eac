//! Blocks in native memory: bytes.
//!
//! ```text
//! | head | slot 0 | slot 1 | ...      from a cache line on
//! ```
//!
//! A row is zeroed memory, and needs no other initialisation. Accesses to a slot's words are
//! atomic, and the words may be uninitialised ([`word`]). So a value may have padding, and a copy
//! may be torn.

use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use std::alloc::{Layout, handle_alloc_error};

use bytemuck::Zeroable;

use super::word::{self, blank};
use super::{BlockHead, Blocks, LINE, bytes, pages, slots};
use crate::memory::{Memory, Native};

/// The number of words of a slot for `R`.
const fn words<R>() -> usize {
    size_of::<R>().div_ceil(size_of::<usize>())
}

const fn bytes_of_slot<R>() -> usize {
    words::<R>() * size_of::<usize>()
}

fn layout(bytes: usize, count: usize) -> Layout {
    let layout = bytes.checked_mul(count).and_then(|all| Layout::from_size_align(all, LINE).ok());
    layout.expect("the table has more entries than can be addressed")
}

/// The address of a word of a slot.
///
/// # Safety
///
/// The block is in a live row, and has this slot.
#[inline(always)]
unsafe fn place<H, R>(block: NonNull<H>, slot: usize, word: usize) -> *mut MaybeUninit<usize> {
    debug_assert!(word < words::<R>(), "a word of the slot");
    // SAFETY: the word is within the block, and the head's pointer may access the whole block.
    unsafe { block.add(1).cast().add(slot * words::<R>() + word).as_ptr() }
}

/// The first word of each line of a block of `bytes` bytes.
#[inline(always)]
fn lines<'a, H>(block: NonNull<H>, bytes: usize) -> impl Iterator<Item = &'a AtomicU32> {
    // SAFETY: the word is within the block's memory, to which all accesses are atomic.
    (0..bytes / LINE).map(move |line| unsafe { block.cast().byte_add(line * LINE).as_ref() })
}

// SAFETY: rows are zeroed memory, and a head may be zeros; the addresses of blocks are within the
// row.
unsafe impl<H: BlockHead + Zeroable, R: Copy> Blocks<H, R> for Native {
    const SLOTS: usize = slots(size_of::<H>(), bytes_of_slot::<R>(), H::MOST);
    const BYTES: usize = {
        assert!(align_of::<H>() <= LINE && size_of::<H>().is_multiple_of(size_of::<usize>()));
        bytes(size_of::<H>(), bytes_of_slot::<R>(), <Self as Blocks<H, R>>::SLOTS)
    };

    fn allocate_row(count: usize) -> NonNull<H> {
        let layout = layout(<Self as Blocks<H, R>>::BYTES, count);
        // SAFETY: the layout's size is not zero, since a block has a size.
        let memory = unsafe { pages::allocate(layout) };
        NonNull::new(memory.cast()).unwrap_or_else(|| handle_alloc_error(layout))
    }

    unsafe fn free_row(first: NonNull<H>, count: usize) {
        let layout = layout(<Self as Blocks<H, R>>::BYTES, count);
        // SAFETY: our caller's promise.
        unsafe { pages::free(first.as_ptr().cast(), layout) };
    }

    fn start(block: NonNull<H>, number: usize) -> NonNull<H> {
        let before = number.wrapping_mul(<Self as Blocks<H, R>>::BYTES);
        let start = block.as_ptr().wrapping_byte_sub(before);
        NonNull::new(start).expect("no row is at such an address")
    }

    #[inline(always)]
    unsafe fn block(start: Option<NonNull<H>>, number: usize) -> NonNull<H> {
        // SAFETY: it is there, by our caller's promise.
        let start = unsafe { start.unwrap_unchecked() };
        let before = number.wrapping_mul(<Self as Blocks<H, R>>::BYTES);
        // SAFETY: there is a block, by our caller's promise.
        unsafe { NonNull::new_unchecked(start.as_ptr().wrapping_byte_add(before)) }
    }

    #[inline(always)]
    unsafe fn copy(block: NonNull<H>, slot: usize, order: Ordering) -> MaybeUninit<R> {
        debug_assert!(slot < <Self as Blocks<H, R>>::SLOTS, "a slot of this block");
        let mut raw = MaybeUninit::<R>::uninit();
        let bytes = raw.as_mut_ptr().cast::<MaybeUninit<u8>>();
        for at in 0..words::<R>() {
            // SAFETY: our caller's promise; an aligned word, all accesses to which are atomic.
            let value = unsafe { word::load(place::<H, R>(block, slot, at), order) };
            let at = at * size_of::<usize>();
            let count = size_of::<usize>().min(size_of::<R>() - at);
            // SAFETY: these bytes are within the value, and within the word.
            unsafe { ptr::copy_nonoverlapping((&raw const value).cast(), bytes.add(at), count) };
        }
        raw
    }

    #[inline(always)]
    unsafe fn set(block: NonNull<H>, slot: usize, value: R, order: Ordering) {
        debug_assert!(slot < <Self as Blocks<H, R>>::SLOTS, "a slot of this block");
        let raw = MaybeUninit::new(value);
        let bytes = raw.as_ptr().cast::<MaybeUninit<u8>>();
        for number in 0..words::<R>() {
            let mut value = blank();
            let at = number * size_of::<usize>();
            let count = size_of::<usize>().min(size_of::<R>() - at);
            // SAFETY: these bytes are within the value, and within the word.
            unsafe { ptr::copy_nonoverlapping(bytes.add(at), (&raw mut value).cast(), count) };
            // SAFETY: our caller's promise; an aligned word, all accesses to which are atomic.
            unsafe { word::store(place::<H, R>(block, slot, number), value, order) };
        }
    }

    #[inline(always)]
    fn fetch(block: NonNull<H>) {
        lines(block, <Self as Blocks<H, R>>::BYTES).skip(1).for_each(Native::prefetch);
    }

    #[inline(always)]
    fn fetch_for_write(block: NonNull<H>) {
        lines(block, <Self as Blocks<H, R>>::BYTES).for_each(Native::prefetch_for_write);
    }
}
