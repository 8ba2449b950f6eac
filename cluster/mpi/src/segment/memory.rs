//! The memory of locks that are in segments: words of the processor, and links that hold distances.
//!
//! Waiting is as for locks within a process, except that [`Memory::yield_now`] also lets MPI make
//! progress. So the locks have the waiting policy [`Yield`](syncline::wait::Yield). No rank sleeps,
//! because MPI libraries can't wake a rank that sleeps outside of their functions.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, Ordering::Relaxed};
use std::time::Duration;

use syncline::memory::{Address, Link, Memory, Native, Pooled};

use super::barrier;
use super::region::base;
use super::turn::{give_way, pausing};
use crate::library::drive;

/// The longest pause in which a rank makes no MPI progress, in units of [`Memory::delay`]; it is
/// about a microsecond. The lock's holder may need this rank's progress for operations that it has
/// sent, or may need the processor. With pauses of ten microseconds, locks under which something is
/// sent took up to a fifth longer.
const UNDRIVEN: u32 = 32;

/// The memory of locks that are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment;

/// A reference to a node: its distance from the start of the region.
pub struct Distance<T>(NonZeroUsize, PhantomData<fn() -> T>);

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

/// A link that all processes share; zero stands for no node.
#[repr(transparent)]
pub struct SharedLink<T>(AtomicUsize, PhantomData<fn() -> T>);

impl<T> Default for SharedLink<T> {
    fn default() -> Self {
        SharedLink(AtomicUsize::new(0), PhantomData)
    }
}

impl<T> fmt::Debug for SharedLink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// SAFETY: words and links are core's atomics. Every process has a segment at the same distance from
// the start of its region. So in all processes, a distance leads to the node that it was made for.
unsafe impl Memory for Segment {
    type Word = AtomicU32;
    type Link<T> = SharedLink<T>;
    type Ref<T> = Distance<T>;
    type Data<T> = <Native as Memory>::Data<T>;
    type Own<T: Default> = Pooled<T, Self>;

    /// A few polls, which take half a microsecond together. Then a waiter lets MPI make progress
    /// and yields, because the holder may wait for either. With 50 polls, the median wait for a
    /// lock under which something is sent was twice as long, both with 4 ranks and with 2 on 2
    /// processors.
    const PATIENCE: u32 = 6;
    const BATCH: u32 = Native::BATCH;

    #[inline]
    fn refer<T>(node: &T) -> Distance<T> {
        let distance = ptr::from_ref(node).expose_provenance() - base();
        // SAFETY: no segment begins at the start of the region, so the distance is not zero.
        Distance(unsafe { NonZeroUsize::new_unchecked(distance) }, PhantomData)
    }

    #[inline]
    unsafe fn follow<'a, T: 'a>(node: Distance<T>) -> &'a T {
        // SAFETY: the caller keeps the node alive. The node is in a segment that is mapped here at
        // the same distance as in the process that made the reference.
        unsafe { &*ptr::with_exposed_provenance(base() + node.0.get()) }
    }

    /// Can't be used: this function does not know the segment in which a node would have to be. So
    /// a lock that allocates nodes itself can't be a scheme; it would not compile.
    fn allocate<T: Default>() -> Distance<T> {
        const { panic!("locks in segments bring their nodes") }
    }

    unsafe fn free<T>(_: Distance<T>) {
        // Nothing to free, since nothing is allocated.
    }

    #[inline]
    fn pause(looks: u32) {
        Native::pause(looks);
    }

    /// During a pause longer than [`UNDRIVEN`], the rank lets MPI make progress and yields.
    #[inline]
    fn delay(units: u32) {
        let mut left = units;
        while left > UNDRIVEN {
            Native::delay(UNDRIVEN);
            Self::yield_now();
            left -= UNDRIVEN;
        }
        Native::delay(left);
    }

    fn yield_now() {
        pausing(|| {
            if !give_way() {
                drive();
                Native::yield_now();
            }
        });
    }

    fn park(_: &AtomicU32, _: u32, _: u32, _: Option<Duration>) {
        // Returns early, which the trait always allows.
        Self::yield_now();
    }

    fn unpark(_: Address, _: Option<u32>, _: u32) {
        // Nothing to wake: no rank sleeps.
    }

    #[inline]
    fn light_barrier() {
        barrier::light();
    }

    fn heavy_barrier() {
        barrier::heavy();
    }

    fn now() -> Duration {
        Native::now()
    }

    fn group(level: usize) -> usize {
        Native::group(level)
    }

    #[inline]
    fn prefetch_for_write(word: &AtomicU32) {
        Native::prefetch_for_write(word);
    }
}

#[inline]
fn bits<T>(node: Option<Distance<T>>) -> usize {
    node.map_or(0, |node| node.0.get())
}

#[inline]
fn node<T>(bits: usize) -> Option<Distance<T>> {
    NonZeroUsize::new(bits).map(|distance| Distance(distance, PhantomData))
}

impl<T> Link<Distance<T>> for SharedLink<T> {
    #[inline]
    fn load(&self, order: Ordering) -> Option<Distance<T>> {
        node(self.0.load(order))
    }
    #[inline]
    fn store(&self, node: Option<Distance<T>>, order: Ordering) {
        self.0.store(bits(node), order);
    }
    #[inline]
    fn swap(&self, new: Option<Distance<T>>, order: Ordering) -> Option<Distance<T>> {
        node(self.0.swap(bits(new), order))
    }
    #[inline]
    fn exchange(
        &self,
        old: Option<Distance<T>>,
        new: Option<Distance<T>>,
        order: Ordering,
    ) -> bool {
        self.0.compare_exchange(bits(old), bits(new), order, Relaxed).is_ok()
    }
}
