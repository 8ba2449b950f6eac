//! Lists of equal, unused pieces of the arena.
//!
//! A list is Treiber's stack. Its head is a piece's number with a tag that every change increments,
//! so that a piece that was taken and given back isn't mistaken for one that stayed. The list has
//! no lock that a fork could leave held.

use core::ptr::NonNull;
use core::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};

use super::arena;

/// A list of unused pieces of one size.
pub struct Cells {
    /// The tag in the high half, and in the low half the number of the first free piece, or 0.
    head: AtomicU64,
    /// The most pieces that may exist, free or taken.
    limit: u32,
    /// The number of pieces that exist, and of calls that are about to make one.
    count: AtomicU32,
}

const NUMBER: u64 = u32::MAX as u64;
const TAG: u64 = 1 << 32;

impl Cells {
    /// A list without pieces, for at most this many.
    pub const fn new(limit: u32) -> Cells {
        Cells { head: AtomicU64::new(0), limit, count: AtomicU32::new(0) }
    }

    /// Takes a piece of this many lines (the same for all callers): either one in the state in
    /// which it was given back, or a fresh one that is all zero. `None` if the limit is reached or
    /// there is no memory.
    pub fn take(&self, lines: usize) -> Option<NonNull<u8>> {
        // Acquire pairs with the AcqRel in `give`: the piece's link is visible.
        let mut head = self.head.load(Acquire);
        while head & NUMBER != 0 {
            let piece = arena::at((head & NUMBER) as u32);
            // Relaxed: if another thread has taken the piece meanwhile, this may be any value, and
            // the exchange fails.
            let next = link_of(piece).load(Relaxed);
            let new = (head & !NUMBER).wrapping_add(TAG) | u64::from(next);
            match self.head.compare_exchange_weak(head, new, AcqRel, Acquire) {
                Ok(_) => return Some(piece),
                Err(now) => head = now,
            }
        }
        // Relaxed, both: this is only a counter.
        let may_exist = self.count.fetch_add(1, Relaxed) < self.limit;
        let fresh = may_exist.then(|| arena::cut(lines)).flatten();
        if fresh.is_none() {
            // There may be memory later, so no piece is lost.
            self.count.fetch_sub(1, Relaxed);
        }
        fresh
    }

    /// Puts a piece back into the list.
    ///
    /// # Safety
    ///
    /// The piece comes from [`take`](Self::take) of this list, and no thread uses it any more.
    pub unsafe fn give(&self, piece: NonNull<u8>) {
        // Relaxed: the exchange checks the value again.
        let mut head = self.head.load(Relaxed);
        loop {
            link_of(piece).store((head & NUMBER) as u32, Relaxed);
            let new = (head & !NUMBER).wrapping_add(TAG) | u64::from(arena::number(piece));
            // AcqRel pairs with the Acquire in `take`.
            match self.head.compare_exchange_weak(head, new, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// The number of a piece, not 0, below 2^25.
    pub fn number(piece: NonNull<u8>) -> u32 {
        arena::number(piece)
    }

    /// The piece with this number.
    pub fn at(number: u32) -> NonNull<u8> {
        arena::at(number)
    }
}

/// A piece's first word, which links free ones.
fn link_of<'a>(piece: NonNull<u8>) -> &'a AtomicU32 {
    // SAFETY: pieces are aligned and never unmapped, and the word may be accessed atomically even
    // while a thread has the piece.
    unsafe { piece.cast().as_ref() }
}
