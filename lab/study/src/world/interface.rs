//! The interface of a machine for stress tests.

use std::ops::Range;

use syncline::memory::LongMemory;

/// The body of a test's thread, which gets the run's watch.
pub type Body<'a, W> = Box<dyn FnOnce(&<W as World>::Watch) + Send + 'a>;

/// A machine on which threads run.
pub trait World: Sync {
    /// The machine's memory.
    type Memory: LongMemory;
    /// Informs the threads of a run about its phase.
    type Watch: Watch;
    /// Whether the machine's seconds are simulated. A fraction of a simulated millisecond is as
    /// informative as a tenth of a second on a real machine, since nothing else disturbs the run.
    const SIMULATED: bool;

    /// The name of the machine.
    fn name(&self) -> &str;

    /// The number of hardware threads.
    fn threads(&self) -> usize;

    /// Ticks of [`now`](Self::now) per second.
    fn hertz(&self) -> f64;

    /// The hardware threads for this many threads, in this order.
    fn places(&self, threads: usize, order: Placement) -> Vec<usize>;

    /// The numbers of threads that are worth measuring, in ascending order, from one to all. If the
    /// machine is known to have large nodes, the numbers include those that just fill some nodes,
    /// and the one that is one more than fits on the first node.
    fn steps(&self) -> Vec<usize>;

    /// Whether the machine is known to have several sockets, so that hierarchical locks can have an
    /// advantage.
    fn has_sockets(&self) -> bool;

    /// Whether a store to a line that others have read is known to be a broadcast to all caches, so
    /// that it pays to fetch lines for writing before reading them.
    fn broadcasts(&self) -> bool;

    /// A partner of hardware thread 0 at each distance, the nearest first, each after the name of
    /// its distance.
    fn partners(&self) -> Vec<(String, usize)>;

    /// The most cycles that a line needs to get from one of these hardware threads to another.
    fn transfer(&self, places: &[usize]) -> u64;

    /// Runs threads, each on its hardware thread. Returns the measured seconds of the run.
    ///
    /// # Panics
    /// If a thread panics.
    fn run(&self, course: &Course, threads: Vec<(usize, Body<'_, Self>)>) -> f64;

    /// The clock's current value, in cycles.
    fn now() -> u64;

    /// The fewest cycles that two readings of the clock take.
    fn clock_cost(&self) -> u64;

    /// Spends this many cycles without accesses to shared memory.
    fn delay(cycles: u64);

    /// Spends the time of this many instructions of the test itself. Does nothing on a real
    /// machine, where these instructions take their time anyway.
    fn execute(instructions: u64);

    /// Waits until all threads can see what this thread has stored.
    fn fence();
}

/// A source from which threads learn the phase of the run.
pub trait Watch: Sync {
    /// The phase of the run.
    fn phase(&self) -> Phase;
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Threads warm up, and operations do not count yet.
    WarmUp,
    /// Threads run, and operations count.
    Measured,
    /// Threads must end.
    Over,
}

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Course {
    /// Seconds of warm-up, whose operations don't count.
    pub warm_up: f64,
    /// Seconds of measurement, whose operations count.
    pub measured: f64,
    /// The seed of all random choices on a simulated machine.
    pub seed: u64,
    /// The lines that the threads share, each block with the number of its home node. Ignored on a
    /// real machine, where the system decides where memory is.
    pub shared: Vec<(Range<usize>, usize)>,
    /// The homes of all other lines.
    pub homes: Homes,
    /// Whether the line of a word is fetched for writing before each load of the word. Ignored on a
    /// real machine.
    pub fetch_for_writing: bool,
}

impl Course {
    /// The parameters of a run whose threads end by themselves, with memory at the homes that the
    /// machine chooses.
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

/// The homes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// The homes that the machine itself chooses: the node that touches a line first, or hashed.
    Machine,
    /// The node of the first thread, as in SSYNC.
    First,
    /// A different node for each lock or each line.
    Spread,
}

/// The order in which hardware threads are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Node by node. Within a node, each core gets one thread before any core gets two, as in
    /// SSYNC.
    Near,
    /// Alternating between the nodes.
    Far,
    /// Processors that the operating system chooses, for threads that are not pinned.
    Anywhere,
}
