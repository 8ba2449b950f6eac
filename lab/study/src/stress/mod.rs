//! The stress tests of SSYNC's sections 5.3, 5.4 and 6.1 to 6.4, of transactions, and of the locks
//! of MPI's windows. All are written once over a [`World`], except those of messages in hardware
//! and of windows, which need a simulated machine.

pub mod atomics;
pub mod contenders;
pub mod hardware_messages;
pub mod hardware_table;
pub mod memcached;
pub mod messages;
pub mod mutex;
pub mod table;
pub mod throughput;
pub mod transactions;
pub mod uncontended;
pub mod windows;

use std::ops::Range;

pub use crate::world::Homes;
use crate::world::{Course, Placement, World};

/// The load on a machine in a test.
#[derive(Clone, Debug)]
pub struct Load {
    /// The number of threads.
    pub threads: usize,
    /// The processors on which the threads run.
    pub placement: Placement,
    /// The number of locks; for each operation, a thread acquires one of them at random.
    pub locks: usize,
    /// Whether holders read and write a line of data that belongs to the lock.
    pub data: bool,
    /// The pause of a thread between two operations.
    pub pause: Pause,
    /// The homes of shared memory.
    pub homes: Homes,
    /// Whether the line of a word is fetched for writing before each load of the word.
    pub fetch_for_writing: bool,
    /// Whether each operation is timed.
    pub timed: bool,
    /// Seconds of warm-up, whose operations don't count.
    pub warm_up: f64,
    /// Seconds of measurement, whose operations count.
    pub measured: f64,
    /// The seed of all random choices.
    pub seed: u64,
}

/// The length of a thread's pause after an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pause {
    /// No pause.
    None,
    /// The longest time that a line needs to get from one thread of the test to another. During
    /// such a pause, as in SSYNC, another thread can do the next operation. Each pause is random,
    /// from 0.5 to 1.5 times that time, since real loops don't stay in step.
    Transfer,
    /// This many cycles on average. Each pause is random, from 0.5 to 1.5 times the average.
    Cycles(u64),
}

/// The result of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Outcome {
    /// Operations per second.
    pub per_second: f64,
    /// The percentage of operations that succeeded; 0 if there were no operations.
    pub success_percent: f64,
    /// Average cycles of an operation; 0 if operations were not timed.
    pub cycles: f64,
    /// The fewest operations of a thread divided by the most operations of a thread; 0 if there
    /// were none.
    pub fairness: f64,
}

/// The counts of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    operations: u64,
    succeeded: u64,
    cycles: u64,
}

impl Tally {
    fn note(&mut self, succeeded: bool, cycles: u64) {
        self.operations += 1;
        self.succeeded += u64::from(succeeded);
        self.cycles += cycles;
    }
}

/// Sums up all threads' counts.
fn outcome(tallies: &[Tally], seconds: f64, clock_cost: u64) -> Outcome {
    let sum = |field: fn(&Tally) -> u64| tallies.iter().map(field).sum::<u64>() as f64;
    let operations = sum(|t| t.operations);
    let each = || tallies.iter().map(|t| t.operations);
    let (least, most) = (each().min().unwrap_or(0), each().max().unwrap_or(0));
    let over = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    Outcome {
        per_second: operations / seconds,
        success_percent: over(100.0 * sum(|t| t.succeeded), operations),
        cycles: (over(sum(|t| t.cycles), operations) - clock_cost as f64).max(0.0),
        fairness: over(least as f64, most as f64),
    }
}

impl Load {
    /// The parameters of a test whose threads share these lines and no others.
    fn course(&self, shared: Vec<Range<usize>>) -> Course {
        let node = |number| if self.homes == Homes::Spread { number } else { 0 };
        let shared = shared.into_iter().enumerate().map(|(n, lines)| (lines, node(n)));
        let shared = if self.homes == Homes::Machine { Vec::new() } else { shared.collect() };
        Course { shared, homes: Homes::Machine, ..self.course_of_all() }
    }

    /// The parameters of a test whose threads share all memory that they use.
    fn course_of_all(&self) -> Course {
        Course {
            warm_up: self.warm_up,
            measured: self.measured,
            seed: self.seed,
            shared: Vec::new(),
            homes: self.homes,
            fetch_for_writing: self.fetch_for_writing,
        }
    }

    /// The average length of the pause, in cycles.
    fn pause<W: World>(&self, world: &W, places: &[usize]) -> u64 {
        match self.pause {
            Pause::None => 0,
            Pause::Transfer => world.transfer(places),
            Pause::Cycles(cycles) => cycles,
        }
    }

    /// Cycles over which the starts of the threads are spread: the time that all threads together
    /// need for one operation each. With random pauses, the order of arrivals becomes random in the
    /// long run anyway; with spread starts, it is random from the beginning. The result is 0 if
    /// threads don't pause, because in that case nothing is random.
    fn spread<W: World>(&self, world: &W, places: &[usize]) -> u64 {
        if self.pause == Pause::None { 0 } else { world.transfer(places) * self.threads as u64 }
    }

    /// Cycles for which the first thread holds the only lock before the test begins; 0 if threads
    /// pause.
    ///
    /// Without pauses, a thread that gets the lock's line while the lock is free keeps the line
    /// until it has released the lock. Threads may follow each other like this for ever, so that
    /// none ever waits. But a queue that has formed lasts for ever as well, and on a real machine a
    /// queue forms as soon as a holder is interrupted. So the test begins with a queue.
    fn queue<W: World>(&self, world: &W, places: &[usize]) -> u64 {
        let each = world.transfer(places);
        if self.pause == Pause::None { 4 * each * self.threads as u64 } else { 0 }
    }

    /// The random number generator of a thread.
    fn chance(&self, thread: usize) -> fastrand::Rng {
        fastrand::Rng::with_seed(
            self.seed ^ (thread as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        )
    }
}

/// Pauses for a random time, from 0.5 to 1.5 times this average.
#[inline]
fn rest<W: World>(chance: &mut fastrand::Rng, average: u64) {
    if average > 0 {
        W::delay(average / 2 + chance.u64(0..=average));
    }
}

/// Delays the beginning of a thread by a random time below `spread`.
fn stagger<W: World>(chance: &mut fastrand::Rng, spread: u64) {
    if spread > 0 {
        W::delay(chance.u64(0..spread));
    }
}

/// The addresses of a value's lines.
fn lines<T>(value: &T) -> Range<usize> {
    let from = std::ptr::from_ref(value).addr();
    from..from + size_of::<T>()
}
