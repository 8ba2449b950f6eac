//! What a stress test needs of a machine.

use std::ops::Range;

use syncline::memory::LongMemory;

/// The body of a test's thread; it gets the watch of the run.
pub type Body<'a, W> = Box<dyn FnOnce(&<W as World>::Watch) + Send + 'a>;

/// A machine that threads run on.
pub trait World: Sync {
    /// The machine's memory.
    type Memory: LongMemory;
    /// Informs the threads of a run about its phase.
    type Watch: Watch;
    /// Whether the machine's seconds are simulated. Then a fraction of a millisecond is as
    /// informative as a tenth of a second on a real machine, and nothing else disturbs the run.
    const SIMULATED: bool;

    /// The name of the machine.
    fn name(&self) -> &str;

    /// The number of hardware threads.
    fn threads(&self) -> usize;

    /// Ticks of [`now`](Self::now) per second.
    fn hertz(&self) -> f64;

    /// The first `threads` hardware threads in this order.
    fn places(&self, threads: usize, order: Placement) -> Vec<usize>;

    /// Numbers of threads that are worth measuring, ascending, from one to all. If nodes are known
    /// to be large, the numbers that just fill some of them, and one more than fits on the first,
    /// are among them.
    fn steps(&self) -> Vec<usize>;

    /// Whether cores are in several sockets, as far as is known, so that hierarchical locks can
    /// have an advantage.
    fn has_sockets(&self) -> bool;

    /// Whether a store to a line that others have read is a broadcast to all, as far as is known,
    /// so that fetching lines for writing before reading them pays off.
    fn broadcasts(&self) -> bool;

    /// A partner of hardware thread 0 at each distance, the nearest first, each with the name of
    /// that distance.
    fn partners(&self) -> Vec<(String, usize)>;

    /// The most cycles that a line needs to get from one of these hardware threads to another.
    fn transfer(&self, places: &[usize]) -> u64;

    /// Runs threads, each on its hardware thread, and returns how many seconds of the run were
    /// measured.
    ///
    /// # Panics
    /// If a thread panics.
    fn run(&self, course: &Course, threads: Vec<(usize, Body<'_, Self>)>) -> f64;

    /// The clock, in cycles.
    fn now() -> u64;

    /// The fewest cycles that reading the clock twice takes.
    fn clock_cost(&self) -> u64;

    /// Spends this many cycles without accesses to shared memory.
    fn delay(cycles: u64);

    /// Spends the time of this many instructions of the test itself. On this machine they take
    /// their time anyway.
    fn execute(instructions: u64);

    /// Waits until all threads can see what this thread has stored.
    fn fence();
}

/// Informs a thread about the phase of the run.
pub trait Watch: Sync {
    /// The phase of the run.
    fn phase(&self) -> Phase;
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Warming up: operations do not count yet.
    WarmUp,
    /// Operations count.
    Measured,
    /// Threads must end.
    Over,
}

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Course {
    /// Seconds of warm-up, which are not counted.
    pub warm_up: f64,
    /// Seconds that are counted.
    pub measured: f64,
    /// Seed of all random choices on a simulated machine.
    pub seed: u64,
    /// The lines that the threads share, each block with the number of its home node. On this
    /// machine, the system decides where memory is.
    pub shared: Vec<(Range<usize>, usize)>,
    /// Where all other lines are placed.
    pub homes: Homes,
    /// Whether the line of a word is fetched for writing before each load of the word. Ignored on
    /// this machine.
    pub fetch_for_writing: bool,
}

impl Course {
    /// The parameters of a run whose threads end by themselves, with memory where the machine
    /// places it.
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

/// Where shared memory is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// As the machine does by itself: at the node that touches it first, or hashed.
    Machine,
    /// At the node of the first thread, as in SSYNC.
    First,
    /// At a different node for each lock, or each line.
    Spread,
}

/// The order in which hardware threads are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Node by node, and one thread on each core before any core has two, as in SSYNC.
    Near,
    /// Alternating between nodes.
    Far,
    /// Where the operating system puts them: threads that are not pinned.
    Anywhere,
}
