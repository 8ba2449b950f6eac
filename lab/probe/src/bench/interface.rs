//! What the probe needs of a bench: a memory with a clock, and threads at given places.

use std::ops::{Deref, Range};
use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Memory, Padded, Word};

use crate::error::Error;
use crate::surroundings::Surroundings;
use crate::topology::Topology;

/// A memory whose accesses can be timed.
pub trait Timed: Memory {
    /// Lines that only the measuring threads use.
    type Region: Deref<Target = [Padded<Self::Word>]> + Send + Sync;

    /// Reads the clock, in ticks, after all earlier accesses are done and before any later one
    /// begins. A load counts as done when its value is there; a store only after
    /// [`settle`](Self::settle).
    fn ticks() -> u64;

    /// Waits until this thread's stores and evictions have taken effect for all threads.
    fn settle();

    /// Tells the bench that the next access depends on the result of the last one, if the bench
    /// can't see that by itself.
    #[inline(always)]
    fn depends() {}

    /// Evicts the line of a word from all caches.
    fn evict(word: &Self::Word);

    /// Sets the lowest bit of a word, and returns whether it was set.
    #[inline(always)]
    fn test_and_set(word: &Self::Word) -> u32 {
        word.fetch_or(1, Relaxed) & 1
    }

    /// Works for this many cycles of this processor, without memory accesses.
    fn work(cycles: u32);
}

/// Lines for a measurement, with their home node.
pub struct Lines<M: Timed> {
    /// The lines.
    pub region: M::Region,
    /// The hardware thread in whose node's memory the lines are.
    pub home: usize,
}

impl<M: Timed> Lines<M> {
    /// The addresses of the lines.
    pub fn addresses(&self) -> Range<usize> {
        let range = self.region.as_ptr_range();
        range.start.addr()..range.end.addr()
    }
}

/// A machine on which threads run at chosen places. Places are indices into [`Topology::threads`].
pub trait Bench {
    /// The memory that its threads share.
    type Memory: Timed;

    /// The hardware threads and their distances.
    fn topology(&self) -> &Topology;

    /// Properties of the system that affect the measurements.
    fn surroundings(&self) -> &Surroundings;

    /// What is measured, in a few words.
    fn title(&self) -> String;

    /// The clock's ticks per second.
    fn ticks_per_second(&self) -> f64;

    /// Allocates lines in the memory of the node of the hardware thread `home`.
    ///
    /// # Errors
    /// If there is too little memory, or no thread can run at `home`.
    fn lines(&self, count: usize, home: usize) -> Result<Lines<Self::Memory>, Error>;

    /// Runs `body` on a thread at each of these places, all at once. Its argument is the thread's
    /// role: the index of its place in `places`.
    ///
    /// # Errors
    /// If a thread can't run at one of the places; then none runs.
    fn run(
        &self,
        lines: &Lines<Self::Memory>,
        places: &[usize],
        body: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Error>;
}
