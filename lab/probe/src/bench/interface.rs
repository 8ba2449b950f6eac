//! What the probe needs of a bench: a memory with a clock, and threads at places.

use std::ops::{Deref, Range};
use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Memory, Padded, Word};

use crate::error::Error;
use crate::surroundings::Surroundings;
use crate::topology::Topology;

/// A memory whose accesses can be timed.
pub trait Timed: Memory {
    /// Lines that nobody else uses.
    type Region: Deref<Target = [Padded<Self::Word>]> + Send + Sync;

    /// The clock, in ticks, once all before is done and before anything after has begun; what
    /// is done includes loads, and stores only after [`settle`](Self::settle).
    fn ticks() -> u64;

    /// Waits until this thread's stores and evictions have taken effect for all.
    fn settle();

    /// Says that the next access needs what the last one returned, where this is not seen by itself.
    #[inline(always)]
    fn depends() {}

    /// Has all caches give up the line of a word.
    fn evict(word: &Self::Word);

    /// Sets the lowest bit of a word, and says whether it was set.
    #[inline(always)]
    fn test_and_set(word: &Self::Word) -> u32 {
        word.fetch_or(1, Relaxed) & 1
    }

    /// Does something that takes this many cycles of this processor, and no memory.
    fn work(cycles: u32);
}

/// Lines for a measurement, with their home.
pub struct Lines<M: Timed> {
    /// The lines.
    pub region: M::Region,
    /// The hardware thread in whose node's memory they are.
    pub home: usize,
}

impl<M: Timed> Lines<M> {
    /// Where they are.
    pub fn addresses(&self) -> Range<usize> {
        let range = self.region.as_ptr_range();
        range.start.addr()..range.end.addr()
    }
}

/// Threads at the places that one wants. Places are indices into [`Topology::threads`].
pub trait Bench {
    /// What its threads share.
    type Memory: Timed;

    /// What is where.
    fn topology(&self) -> &Topology;

    /// What bears on its measurements.
    fn surroundings(&self) -> &Surroundings;

    /// What it is, in a few words.
    fn title(&self) -> String;

    /// The ticks of a second.
    fn ticks_per_second(&self) -> f64;

    /// Makes lines, in the memory of the node of a hardware thread.
    ///
    /// # Errors
    /// If there is not as much memory, or no thread can be had at this place.
    fn lines(&self, count: usize, home: usize) -> Result<Lines<Self::Memory>, Error>;

    /// Runs `body` at each of these places at once, with its index as the role.
    ///
    /// # Errors
    /// If a thread can't be had at one of the places; then none runs.
    fn run(
        &self,
        lines: &Lines<Self::Memory>,
        places: &[usize],
        body: &(dyn Fn(usize) + Sync),
    ) -> Result<(), Error>;
}
