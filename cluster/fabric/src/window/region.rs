//! Addresses that stand for positions in parts: a reserved range that is never mapped.
//!
//! ```text
//!   | rank 0           | rank 1           | ...     STRIDE bytes each
//!       ^ displacement
//! ```
//!
//! A word's address is converted to a position by calculation; code that accesses the address
//! itself faults. All fabrics of a process share the range, since each fabric interprets an address
//! itself.

use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::ptr::{self, null_mut};
use std::sync::OnceLock;

use crate::fabric::Position;

/// The size of a rank's range: locks and nodes have smaller offsets in a part.
const STRIDE: usize = 1 << 32;
/// The most ranks.
const RANKS: usize = 1 << 14;

/// The start of the reserved addresses.
fn start() -> usize {
    static START: OnceLock<usize> = OnceLock::new();
    *START.get_or_init(|| {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new addresses, where nothing was mapped.
        let at = unsafe { libc::mmap(null_mut(), RANKS * STRIDE, libc::PROT_NONE, flags, -1, 0) };
        assert!(at != libc::MAP_FAILED, "the process may not have addresses for ranks' words");
        at.expose_provenance()
    })
}

/// The addresses that stand for locks in ranks' parts.
#[derive(Clone, Copy, Debug)]
pub struct Region;

impl Region {
    /// The position for which an address stands; `None` if it is outside the region.
    pub(super) fn place<T>(at: *const T) -> Option<Position> {
        let offset = at.addr().checked_sub(start())?;
        (offset < RANKS * STRIDE).then_some(Position { rank: offset / STRIDE, at: offset % STRIDE })
    }

    pub(super) fn address<T>(place: Position) -> *mut T {
        assert!(place.rank < RANKS && place.at < STRIDE, "{place:?} is too far for locks");
        ptr::with_exposed_provenance_mut(start() + place.rank * STRIDE + place.at)
    }
}

/// The position of a node in the form that a link holds.
pub struct Distance<T>(NonZeroU64, PhantomData<fn() -> T>);

impl<T> Distance<T> {
    pub(super) fn of(node: *const T) -> Self {
        let place = Region::place(node).expect("a node that others refer to lies in a part");
        Distance::at(place)
    }

    pub(super) fn at(place: Position) -> Self {
        let distance = (place.rank * STRIDE + place.at) as u64;
        Distance::from_bits(distance).expect("a heap's first bytes are no node")
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
