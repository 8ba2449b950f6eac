//! The requirements of the probe on a machine: a memory with a clock, and threads at chosen places.

use std::ops::{Deref, Range};
use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Memory, Padded, Word};

use crate::error::Error;
use crate::surroundings::Surroundings;
use crate::topology::Topology;

/// A memory on which the time of accesses can be measured.
pub trait Timed: Memory {
    /// Lines that are used only by the threads that measure.
    type Region: Deref<Target = [Padded<Self::Word>]> + Send + Sync;

    /// Reads the clock, in ticks. All earlier accesses are complete before the reading, and no
    /// later access begins before it. A load is complete when its value has arrived, but a store
    /// only after [`settle`](Self::settle).
    fn ticks() -> u64;

    /// Waits until this thread's stores and evictions have taken effect for all threads.
    fn settle();

    /// Tells the bench that the next access depends on the result of the last one. A bench needs
    /// this call if it can't see the dependence itself.
    #[inline(always)]
    fn depends() {}

    /// Evicts the line of a word from all caches.
    fn evict(word: &Self::Word);

    /// Sets the lowest bit of a word, and returns the bit's previous value.
    #[inline(always)]
    fn test_and_set(word: &Self::Word) -> u32 {
        word.fetch_or(1, Relaxed) & 1
    }

    /// Computes for this many cycles of this processor, without memory accesses.
    fn work(cycles: u32);
}

/// Lines for a measurement, and where they are.
pub struct Lines<M: Timed> {
    /// The lines.
    pub region: M::Region,
    /// The hardware thread whose node has the lines in its memory.
    pub home: usize,
}

impl<M: Timed> Lines<M> {
    /// The addresses of the lines.
    pub fn addresses(&self) -> Range<usize> {
        let range = self.region.as_ptr_range();
        range.start.addr()..range.end.addr()
    }
}

/// A machine on which threads run at chosen places. A place is an index into [`Topology::threads`].
pub trait Bench {
    /// The memory that the machine's threads share.
    type Memory: Timed;

    /// The hardware threads and their distances.
    fn topology(&self) -> &Topology;

    /// Properties of the system that affect the measurements.
    fn surroundings(&self) -> &Surroundings;

    /// The name of the machine that is measured.
    fn title(&self) -> String;

    /// The clock's ticks per second.
    fn ticks_per_second(&self) -> f64;

    /// Allocates lines in the memory of the node that the hardware thread `home` belongs to.
    ///
    /// # Errors
    /// If there is too little memory, or no thread can run at `home`.
    fn lines(&self, count: usize, home: usize) -> Result<Lines<Self::Memory>, Error>;

    /// Runs `body` in one thread at each of these places, all at the same time. The argument of
    /// `body` is the thread's role: the index of its place in `places`.
    ///
    /// # Errors
    /// If a thread can't run at one of the places. Then no thread runs `body`.
    fn run(
        &self,
        lines: &Lines<Self::Memory>,
        places: &[usize],
        body: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Error>;
}
