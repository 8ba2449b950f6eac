//! The modes of a table. They differ in how operations of several ranks on one part exclude each
//! other.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use syncline::lock::RawSharedLock;
use syncline::memory::{Memory, Own};
use syncline::wait::{Wait, Yield};
use syncline::window::{Global, Part};
use syncline_fabric::{Fabric, Here, Position, Region, Window};

/// A mode of a table: [`Fine`], unless a program asks for [`Coarse`].
pub trait Mode<F: Fabric>: private::Sealed {
    /// Whether writers lock buckets, and readers read a bucket's version before and after it.
    #[doc(hidden)]
    const FINE: bool;

    /// Runs a function that only reads a rank's part.
    #[doc(hidden)]
    fn reading<R>(&self, rank: usize, act: impl FnOnce() -> R) -> R;

    /// Runs a function that changes a rank's part.
    #[doc(hidden)]
    fn changing<R>(&self, rank: usize, act: impl FnOnce() -> R) -> R;
}

/// The mode in which readers copy a bucket between two reads of its version, and write nothing. (A
/// reader that changes have disturbed about 16 times locks the bucket.) Writers lock a bucket only
/// while they make one change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fine;

impl private::Sealed for Fine {}

impl<F: Fabric> Mode<F> for Fine {
    const FINE: bool = true;

    #[inline]
    fn reading<R>(&self, _: usize, act: impl FnOnce() -> R) -> R {
        act()
    }

    #[inline]
    fn changing<R>(&self, _: usize, act: impl FnOnce() -> R) -> R {
        act()
    }
}

/// The method of Christgau and Schnor (Figure 2): each rank's whole part has one window lock `L`.
/// Readers of the part hold it shared, writers exclusively.
///
/// This mode exists for comparison. If a rank dies while it holds a part's lock, other ranks that
/// need the lock may wait for ever.
///
/// Source: Christgau and Schnor, "Design of MPI Passive Target Synchronization for a
/// Non-Cache-Coherent Many-Core Processor" (2019), section 2.2.
pub struct Coarse<F, L, W = Yield> {
    global: Position,
    part: usize,
    fabric: PhantomData<fn() -> F>,
    lock: PhantomData<fn() -> L>,
    wait: PhantomData<fn() -> W>,
}

impl<F, L, W> Coarse<F, L, W> {
    /// `global` is the position of the window's word; `part` is the offset of the lock in each
    /// rank's part.
    pub(crate) fn new(global: Position, part: usize) -> Self {
        Coarse { global, part, fabric: PhantomData, lock: PhantomData, wait: PhantomData }
    }
}

impl<F, L, W> std::fmt::Debug for Coarse<F, L, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Coarse")
    }
}

impl<F, L, W> private::Sealed for Coarse<F, L, W> {}

impl<F, L, W> Coarse<F, L, W>
where
    F: Here,
    L: RawSharedLock<Memory = Window<F>> + Zeroable + 'static,
    W: Wait,
{
    fn with<R>(&self, rank: usize, act: impl FnOnce(&Part<'_, W, L>) -> R) -> R {
        // SAFETY: the table reserves these bytes for the locks, as `Layout` says, and all are zero
        // at first. The rank that opens the table has entered the fabric.
        let lock: &L = unsafe { Region::lock::<F, L>(Position { rank, at: self.part }) };
        // SAFETY: as above. `Global` is a word.
        let global = unsafe { Region::value::<Global<W, Window<F>>>(self.global) };
        act(&Part { global, lock })
    }
}

impl<F, L, W> Mode<F> for Coarse<F, L, W>
where
    F: Here,
    L: RawSharedLock<Memory = Window<F>> + Zeroable + 'static,
    W: Wait,
{
    const FINE: bool = false;

    fn reading<R>(&self, rank: usize, act: impl FnOnce() -> R) -> R {
        self.with(rank, |part| {
            let node = Own::<L::SharedNode, Window<F>>::default();
            // SAFETY: the node belongs to this call, and the part is released with it below.
            unsafe { part.acquire_shared(&node) };
            let _release = OnDrop(|| {
                // SAFETY: the part was acquired with this node.
                unsafe { part.release_shared(&node) };
            });
            act()
        })
    }

    fn changing<R>(&self, rank: usize, act: impl FnOnce() -> R) -> R {
        self.with(rank, |part| {
            let node = Own::<L::Node, Window<F>>::default();
            // SAFETY: the node belongs to this call, and the part is released with it below.
            unsafe { part.acquire(&node) };
            let _release = OnDrop(|| {
                Window::<F>::releasing();
                // SAFETY: the part was acquired with this node.
                unsafe { part.release(&node) };
            });
            act()
        })
    }
}

/// Calls a function when it is dropped, even if the caller's function panics.
struct OnDrop<A: FnMut()>(A);

impl<A: FnMut()> Drop for OnDrop<A> {
    fn drop(&mut self) {
        (self.0)();
    }
}

mod private {
    pub trait Sealed {}
}
