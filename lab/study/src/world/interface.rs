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
    /// informative as a tenth of a second on a real machine, since nothing disturbs a simulated
    /// run.
    const SIMULATED: bool;

    /// The name of the machine.
    fn name(&self) -> &str;

    /// The number of hardware threads.
    fn threads(&self) -> usize;

    /// Ticks of [`now`](Self::now) per second.
    fn hertz(&self) -> f64;

    /// The numbers of the hardware threads on which `threads` threads run, in the order `order`. If
    /// there are more threads than hardware threads, the numbers repeat. With
    /// [`Placement::Anywhere`], all are `ANYWHERE`.
    fn places(&self, threads: usize, order: Placement) -> Vec<usize>;

    /// The numbers of threads that are worth measuring, in ascending order, from one to all. If the
    /// machine is known to have large nodes, the numbers include some that exactly fill one or
    /// several nodes, and the number of the first node's cores plus one.
    fn steps(&self) -> Vec<usize>;

    /// Whether hierarchical locks may have an advantage: the machine has several sockets, or the
    /// number of its sockets is unknown.
    fn has_sockets(&self) -> bool;

    /// Whether a store to a line that others have read is known to be a broadcast to all caches, so
    /// that it pays to fetch lines for writing before reading them.
    fn broadcasts(&self) -> bool;

    /// For each distance, the name of the distance and a partner of hardware thread 0 at that
    /// distance. The nearest is the first. A real machine's distances are unknown here, so there
    /// each other processor is a partner.
    fn partners(&self) -> Vec<(String, usize)>;

    /// The most cycles that a cache line needs to get from one of these hardware threads to
    /// another.
    fn transfer(&self, places: &[usize]) -> u64;

    /// Runs the bodies in `threads`, each on the hardware thread whose number it is paired with.
    /// Returns the length of the measured phase, in seconds.
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

    /// Spends the time that this many instructions of the test itself take. Does nothing on a real
    /// machine, where the instructions themselves take that time.
    fn execute(instructions: u64);

    /// Waits until all threads can see what this thread has stored.
    fn fence();
}

/// The source from which threads learn the phase of the run.
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
    /// The homes that the machine itself chooses: the node that touches a line first, or a node by
    /// a hash.
    Machine,
    /// Node 0, on which the first of the pinned threads runs, as in SSYNC.
    First,
    /// A different node for each lock or each line.
    Spread,
}

/// The order in which hardware threads are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Node by node, with one thread for each core. Only after all cores of the machine have a
    /// thread does a core get a second one, as in SSYNC.
    Near,
    /// Alternating between the nodes.
    Far,
    /// Threads are not pinned: the operating system chooses their processors.
    Anywhere,
}
