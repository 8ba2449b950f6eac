//! [`Window`], the `Memory` for locks whose words are in the parts of a fabric. Lock nodes come
//! from the fabric's heap, and the fabric performs the pauses and tells the time.

use std::fmt::{self, Debug, Formatter};
use std::marker::PhantomData;
use std::time::Duration;

use syncline::memory::{Address, Memory, Pooled};

use super::region::{Distance, Region};
use super::words::{WindowData, WindowLink, WindowWord, reached};
use crate::fabric::{Fabric, Position};
use crate::here::Here;

/// The unit of [`Memory::delay`]: short compared with an operation of a fabric.
const UNIT: Duration = Duration::from_nanos(100);

/// The memory of locks in the parts of a fabric `F`.
pub struct Window<F>(PhantomData<fn() -> F>);

impl<F> Clone for Window<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Window<F> {}

impl<F> Default for Window<F> {
    fn default() -> Self {
        Window(PhantomData)
    }
}

impl<F> Debug for Window<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Window")
    }
}

// SAFETY: words and links are changed by a fabric's operations. Each is atomic and has taken effect
// when it returns, and all are in one total order. A reference is the position of a node.
unsafe impl<F: Here> Memory for Window<F> {
    type Word = WindowWord<F>;
    type Link<T> = WindowLink<F, T>;
    type Ref<T> = Distance<T>;
    type Data<T> = WindowData<F, T>;
    type Own<T: Default> = Pooled<T, Self>;

    /// Each poll is an operation of the fabric, and the pauses between polls grow. So waiters poll
    /// less often than in shared memory before they do something slower, such as reading the clock.
    const PATIENCE: u32 = 16;
    const BATCH: u32 = 64;

    fn refer<T>(node: &T) -> Distance<T> {
        Distance::of(node)
    }

    unsafe fn follow<'a, T: 'a>(node: Distance<T>) -> &'a T {
        // SAFETY: our caller's promise.
        unsafe { node.follow() }
    }

    /// Allocates a zeroed node in this rank's part. For every type that consists of words, links
    /// and data, zero bytes are the default value.
    ///
    /// # Panics
    ///
    /// If the heap that this rank has entered is full, or has no room left in the first 4 GiB of
    /// the part. If the calling code does not run in a rank.
    fn allocate<T: Default>() -> Distance<T> {
        const { assert!(align_of::<T>() <= 64, "a block is on lines of its own") };
        F::here(|fabric| {
            let bytes = size_of::<T>();
            let taken = fabric.nodes().take(fabric, fabric.rank(), bytes);
            let place = taken.unwrap_or_else(|full| panic!("no node for a lock: {full}"));
            let zeros = vec![0; bytes];
            fabric.put(place, &zeros);
            reached(fabric.flush(place.rank));
            Distance::at(place)
        })
    }

    unsafe fn free<T>(node: Distance<T>) {
        F::here(|fabric| {
            reached(fabric.nodes().give(fabric, node.place(), size_of::<T>()));
        });
    }

    fn pause(looks: u32) {
        F::here(|fabric| fabric.pause(Position { rank: fabric.rank(), at: 0 }, looks));
    }

    fn pause_at<T>(word: &T, looks: u32) {
        match Region::place(word) {
            Some(place) => F::here(|fabric| fabric.pause(place, looks)),
            None => Self::pause(looks),
        }
    }

    fn delay(units: u32) {
        F::here(|fabric| fabric.rest(UNIT * units));
    }

    fn yield_now() {
        Self::pause(Self::PATIENCE);
    }

    fn park(word: &WindowWord<F>, _: u32, _: u32, _: Option<Duration>) {
        // Returns early, which the trait always allows.
        Self::pause_at(word, Self::PATIENCE);
    }

    fn unpark(_: Address, _: Option<u32>, _: u32) {
        // Nothing to wake: no rank sleeps.
    }

    fn now() -> Duration {
        F::here(Fabric::now)
    }

    fn group(_: usize) -> usize {
        F::here(|fabric| fabric.machine(fabric.rank()))
    }

    fn prefetch_for_write(_: &WindowWord<F>) {
        // Nothing to do: a fabric can't prefetch.
    }

    fn releasing() {
        F::here(Fabric::flush_all);
    }
}
