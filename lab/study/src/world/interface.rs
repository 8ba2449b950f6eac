//! What a stress test needs of a machine, and what it says of a run.

use std::ops::Range;

use syncline::memory::LongMemory;

/// What a thread of a test does; it is given the watch of the run.
pub type Body<'a, W> = Box<dyn FnOnce(&<W as World>::Watch) + Send + 'a>;

/// A machine that threads run on.
pub trait World: Sync {
    /// Its memory.
    type Memory: LongMemory;
    /// Tells the threads of a run how far it is.
    type Watch: Watch;
    /// Whether its seconds are simulated ones: a fraction of a millisecond tells as much there as
    /// a tenth of a second here, and nothing else disturbs it.
    const SIMULATED: bool;

    /// What to call the machine.
    fn name(&self) -> &str;

    /// Hardware threads.
    fn threads(&self) -> usize;

    /// Ticks of [`now`](Self::now) in a second.
    fn hertz(&self) -> f64;

    /// The first this many hardware threads in this order.
    fn places(&self, threads: usize, order: Placement) -> Vec<usize>;

    /// Numbers of threads that are worth a measurement, ascending: one, two, up to the ends of
    /// the first nodes and the beginnings of the next, and all.
    fn steps(&self) -> Vec<usize>;

    /// Whether cores are in several sockets, as far as it knows, so that hierarchical locks have
    /// something to gain.
    fn has_sockets(&self) -> bool;

    /// Whether a store to a line that others have read is a broadcast to all, as far as it knows, so
    /// that it pays to fetch lines for writing before they are read.
    fn broadcasts(&self) -> bool;

    /// A partner of hardware thread 0 at each distance, the nearest first, and what to call
    /// that distance.
    fn partners(&self) -> Vec<(String, usize)>;

    /// Cycles that a line needs at most to get from one of these hardware threads to another.
    fn transfer(&self, places: &[usize]) -> u64;

    /// Runs threads, each on its hardware thread, and returns how many seconds of it were
    /// measured.
    ///
    /// # Panics
    /// If a thread panics.
    fn run(&self, course: &Course, threads: Vec<(usize, Body<'_, Self>)>) -> f64;

    /// The clock, in cycles.
    fn now() -> u64;

    /// Cycles that looking at the clock twice takes, at least.
    fn clock_cost(&self) -> u64;

    /// Does something else than to use shared memory for this many cycles.
    fn delay(cycles: u64);

    /// The time of this many instructions of the test itself. On this machine they take it anyway.
    fn execute(instructions: u64);

    /// Waits until what this thread has stored can be seen by all.
    fn fence();
}

/// Tells a thread how far the run is.
pub trait Watch: Sync {
    /// How far the run is.
    fn phase(&self) -> Phase;
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// What is done now does not count yet.
    WarmUp,
    /// It counts.
    Measured,
    /// Threads are to end.
    Over,
}

/// How a run is to go.
#[derive(Clone, Debug)]
pub struct Course {
    /// Seconds that do not count, at first.
    pub warm_up: f64,
    /// Seconds that count.
    pub measured: f64,
    /// Decides what is chance on a simulated machine.
    pub seed: u64,
    /// The lines that the threads share, each block with the number of the node that it is
    /// placed at. On this machine, memory is where the system has put it.
    pub shared: Vec<(Range<usize>, usize)>,
    /// Where all other lines are placed.
    pub homes: Homes,
    /// Whether the line of a word is fetched for writing before each load of it. On this machine it
    /// is not.
    pub fetch_for_writing: bool,
}

impl Course {
    /// The course of threads that end by themselves, on memory where the machine puts it.
    pub fn to_the_end(seed: u64) -> Course {
        Course {
            warm_up: 0.0,
            measured: 0.0,
            seed,
            shared: Vec::new(),
            homes: Homes::Machine,
            fetch_for_writing: false,
        }
    }
}

/// Where shared memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// As the machine does it: at the node that touches it first, or hashed.
    Machine,
    /// At the node of the first thread: SSYNC's.
    First,
    /// Lock by lock, or line by line, at another node.
    Spread,
}

/// In which order hardware threads are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Node by node, and one thread on each core before any has two: SSYNC's.
    Near,
    /// A node after the other in turn.
    Far,
    /// Where the operating system puts them: threads that nobody pins.
    Anywhere,
}
