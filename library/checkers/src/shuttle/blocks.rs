//! Rows of blocks made of shuttle's words.

use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;
use std::thread::panicking;

use syncline::memory::objects::{self, bytes, head, slot};
use syncline::memory::{BlockHead, Blocks, Words};

use super::{Shuttle, ShuttleRef, with};
use crate::nodes::SLOTS;

// SAFETY: rows of objects, in memory that is never reused.
unsafe impl<H: BlockHead, R: Words> Blocks<H, R> for Shuttle {
    const SLOTS: usize = SLOTS;
    const BYTES: usize = bytes(head::<H>(), slot::<R, Self>(), SLOTS);

    fn allocate_row(count: usize) -> ShuttleRef<H> {
        let first = with(|e| e.nodes.place_for(objects::layout::<H, R, Self>(count))).cast();
        // SAFETY: the memory is new.
        unsafe { objects::make::<H, R, Self>(first, count) };
        ShuttleRef(first)
    }

    unsafe fn free_row(first: ShuttleRef<H>, count: usize) {
        // A failed execution is torn down in any order.
        if panicking() {
            return;
        }
        with(|e| e.nodes.kill(first.0.cast()));
        // SAFETY: our caller's promise; the memory stays allocated.
        unsafe { objects::end::<H, R, Self>(first.0, count) };
    }

    fn start(block: ShuttleRef<H>, number: usize) -> ShuttleRef<H> {
        ShuttleRef(objects::further::<H, R, Self>(block.0, number.wrapping_neg()))
    }

    unsafe fn block(start: Option<ShuttleRef<H>>, number: usize) -> ShuttleRef<H> {
        let start = start.expect("a block is sought in a row that is there");
        ShuttleRef(objects::further::<H, R, Self>(start.0, number))
    }

    unsafe fn copy(block: ShuttleRef<H>, slot: usize, order: Ordering) -> MaybeUninit<R> {
        // SAFETY: our caller's promise.
        unsafe { objects::copy::<H, R, Self>(block.0, slot, order) }
    }

    unsafe fn set(block: ShuttleRef<H>, slot: usize, value: R, order: Ordering) {
        // SAFETY: our caller's promise.
        unsafe { objects::set::<H, R, Self>(block.0, slot, value, order) };
    }
}
