//! Rows of blocks made of loom's words.

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::thread::panicking;

use syncline::memory::objects::{self, bytes, head, slot};
use syncline::memory::{BlockHead, Blocks, Words};

use super::execution::Execution;
use super::{Loom, LoomRef};
use crate::nodes::SLOTS;

// SAFETY: rows of objects, in memory that is never reused.
unsafe impl<H: BlockHead, R: Words> Blocks<H, R> for Loom {
    const SLOTS: usize = SLOTS;
    const BYTES: usize = bytes(head::<H>(), slot::<R, Self>(), SLOTS);

    fn allocate_row(count: usize) -> LoomRef<H> {
        let first = Execution::allocate_row(objects::layout::<H, R, Self>(count)).cast();
        // SAFETY: the memory is new.
        unsafe { objects::make::<H, R, Self>(first, count) };
        LoomRef(first)
    }

    unsafe fn free_row(first: LoomRef<H>, count: usize) {
        // A failed execution is torn down in any order.
        if panicking() {
            return;
        }
        Execution::free(first.0.cast());
        // SAFETY: our caller's promise; the memory stays allocated.
        unsafe { objects::end::<H, R, Self>(first.0, count) };
    }

    fn start(block: LoomRef<H>, number: usize) -> LoomRef<H> {
        LoomRef(objects::further::<H, R, Self>(block.0, number.wrapping_neg()))
    }

    unsafe fn block(start: Option<LoomRef<H>>, number: usize) -> LoomRef<H> {
        let start = start.expect("a block is sought in a row that is there");
        LoomRef(objects::further::<H, R, Self>(start.0, number))
    }

    unsafe fn copy(block: LoomRef<H>, slot: usize, order: Ordering) -> MaybeUninit<R> {
        // SAFETY: our caller's promise.
        unsafe { objects::copy::<H, R, Self>(block.0, slot, order) }
    }

    unsafe fn set(block: LoomRef<H>, slot: usize, value: R, order: Ordering) {
        // SAFETY: our caller's promise.
        unsafe { objects::set::<H, R, Self>(block.0, slot, value, order) };
    }
}
