//! Addresses that stand for positions in parts. These addresses form a range that is reserved
//! without access rights.
//!
//! ```text
//!   | rank 0           | rank 1           | ...     STRIDE bytes each
//!       ^ offset
//! ```
//!
//! The position of a word is calculated from the word's address. Code that accesses the address
//! itself faults. All fabrics of a process share the range, since each fabric converts addresses to
//! its own positions.

use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::ptr::{self, null_mut};
use std::sync::OnceLock;

use crate::fabric::Position;

/// The size of the range for one rank.
const STRIDE: usize = Region::REACH;
/// The most ranks that have a range.
const RANKS: usize = 1 << 14;

/// The start of the reserved addresses.
fn start() -> usize {
    static START: OnceLock<usize> = OnceLock::new();
    *START.get_or_init(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: maps new addresses.
        let at = unsafe { libc::mmap(null_mut(), RANKS * STRIDE, libc::PROT_NONE, flags, -1, 0) };
        assert!(at != libc::MAP_FAILED, "the process can't reserve addresses for the ranks' words");
        at.expose_provenance()
    })
}

/// The addresses that stand for locks in ranks' parts.
#[derive(Clone, Copy, Debug)]
pub struct Region;

impl Region {
    /// The number of bytes at the start of each part that can contain locks and their nodes: 4 GiB.
    pub const REACH: usize = 1 << 32;

    /// The position that an address stands for, or `None` if the address is outside the region.
    pub(super) fn place<T>(at: *const T) -> Option<Position> {
        let offset = at.addr().checked_sub(start())?;
        (offset < RANKS * STRIDE).then_some(Position { rank: offset / STRIDE, at: offset % STRIDE })
    }

    pub(super) fn address<T>(place: Position) -> *mut T {
        ptr::with_exposed_provenance_mut(start() + offset::<T>(place))
    }
}

/// The distance from the start of the region to a value at this position.
///
/// # Panics
///
/// If the value is not entirely within the range of one rank.
fn offset<T>(place: Position) -> usize {
    let Position { rank, at } = place;
    let fits = rank < RANKS && at <= STRIDE - size_of::<T>();
    assert!(
        fits,
        "a lock or its node can't be at byte {at} of rank {rank}'s part: it must be in the first \
         4 GiB of the part of one of the first {RANKS} ranks"
    );
    rank * STRIDE + at
}

/// The position of a node, in the form in which a link stores it.
pub struct Distance<T>(NonZeroU64, PhantomData<fn() -> T>);

impl<T> Distance<T> {
    pub(super) fn of(node: *const T) -> Self {
        let place = Region::place(node).expect("a node that others refer to lies in a part");
        Distance::at(place)
    }

    pub(super) fn at(place: Position) -> Self {
        Distance::from_bits(offset::<T>(place) as u64).expect("a heap's first bytes are no node")
    }

    pub(super) fn place(self) -> Position {
        let distance = self.0.get() as usize;
        Position { rank: distance / STRIDE, at: distance % STRIDE }
    }

    /// # Safety
    ///
    /// Same requirements as [`Memory::follow`](syncline::memory::Memory::follow).
    pub(super) unsafe fn follow<'a>(self) -> &'a T {
        // SAFETY: our caller's promise; as in `Region::lock`.
        unsafe { &*Region::address(self.place()) }
    }

    pub(super) fn bits(node: Option<Self>) -> u64 {
        node.map_or(0, |node| node.0.get())
    }

    pub(super) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(|distance| Distance(distance, PhantomData))
    }
}

impl<T> Clone for Distance<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Distance<T> {}

impl<T> PartialEq for Distance<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Distance<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_convert_to_addresses_and_distances_and_back() {
        for (rank, at) in [(0, 64), (3, STRIDE - 8), (RANKS - 1, 128)] {
            let place = Position { rank, at };
            assert_eq!(Region::place(Region::address::<u64>(place)), Some(place));
            assert_eq!(Distance::<u64>::at(place).place(), place);
        }
    }

    #[test]
    #[should_panic(expected = "byte 4294967296 of rank 1's part")]
    fn a_node_beyond_four_gibibytes_is_refused() {
        let _ = Distance::<u64>::at(Position { rank: 1, at: STRIDE });
    }

    #[test]
    #[should_panic(expected = "byte 4294967288 of rank 0's part")]
    fn a_lock_does_not_reach_into_the_next_rank() {
        let _ = Region::address::<[u64; 2]>(Position { rank: 0, at: STRIDE - 8 });
    }

    #[test]
    #[should_panic(expected = "of rank 16384's part")]
    fn a_rank_beyond_the_last_is_refused() {
        let _ = Region::address::<u64>(Position { rank: RANKS, at: 0 });
    }
}
