//! Rows of blocks of simulated words. Their layout is that of native memory, so that a block has as
//! many lines on the simulated machine as on a real one.

use std::alloc::{alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use syncline::memory::objects::{self, bytes, head, slot, slots};
use syncline::memory::{BlockHead, Blocks, Words};

use super::Simulated;

// SAFETY: rows consist of objects, which stay where they were allocated until the row is freed.
unsafe impl<H: BlockHead, R: Words> Blocks<H, R> for Simulated {
    const SLOTS: usize = slots(head::<H>(), slot::<R, Self>(), H::MOST);
    const BYTES: usize = bytes(head::<H>(), slot::<R, Self>(), <Self as Blocks<H, R>>::SLOTS);

    fn allocate_row(count: usize) -> NonNull<H> {
        let layout = objects::layout::<H, R, Self>(count);
        // SAFETY: the layout does not have size 0, since a block has a size.
        let memory = NonNull::new(unsafe { alloc(layout) }.cast());
        let first = memory.unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: the memory is new and has this layout.
        unsafe { objects::make::<H, R, Self>(first, count) };
        first
    }

    unsafe fn free_row(first: NonNull<H>, count: usize) {
        // SAFETY: the caller promises that this row was allocated with this layout and is no longer
        // used.
        unsafe {
            objects::end::<H, R, Self>(first, count);
            dealloc(first.as_ptr().cast(), objects::layout::<H, R, Self>(count));
        }
    }

    fn start(block: NonNull<H>, number: usize) -> NonNull<H> {
        objects::further::<H, R, Self>(block, number.wrapping_neg())
    }

    unsafe fn block(start: Option<NonNull<H>>, number: usize) -> NonNull<H> {
        let start = start.expect("a block is sought in a row that is there");
        objects::further::<H, R, Self>(start, number)
    }

    unsafe fn copy(block: NonNull<H>, slot: usize, order: Ordering) -> MaybeUninit<R> {
        // SAFETY: our caller's promise.
        unsafe { objects::copy::<H, R, Self>(block, slot, order) }
    }

    unsafe fn set(block: NonNull<H>, slot: usize, value: R, order: Ordering) {
        // SAFETY: our caller's promise.
        unsafe { objects::set::<H, R, Self>(block, slot, value, order) };
    }
}
