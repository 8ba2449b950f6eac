//! The result of a measurement, as data. Reports show it, and machine descriptions are made from
//! it.

use serde::{Serialize, Serializer};
use syncline_sim::machine::Protocol;

use crate::case::{Access, State, access_name, state_name};
use crate::layout::Layout;
use crate::note::Note;
use crate::topology::{Caches, HardwareThread};
use syncline_statistics::{Summary, median};

/// The result of a measurement. Latencies are in cycles of the processor.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The machine that was measured.
    pub subject: Subject,
    /// The distances between threads that the machine has, from near to far.
    pub distances: Vec<Distance>,
    /// The costs of accesses to lines that other threads have.
    pub cells: Vec<Cell>,
    /// The costs of accesses to a line that the thread itself has changed and that another thread
    /// has read since.
    pub mine: Vec<Mine>,
    /// The time for which a line stays with its owner, as a share of the time that another thread
    /// needs to get the line.
    pub stays: Vec<Stays>,
    /// The number of loads of lines that another thread has changed that are under way at the same
    /// time.
    pub under_way: Vec<UnderWay>,
    /// The costs of accesses that need no other thread.
    pub local: Local,
    /// The costs of accesses to lines that several threads share.
    pub sharers: Vec<Shared>,
    /// The costs of loads of lines that another thread has changed. The first index is the thread
    /// that loads, and the second is the thread that has changed the line. `None` on the diagonal.
    pub matrix: Vec<Vec<Option<f64>>>,
    /// Whether a changed line stays with its owner when other threads read it; `None` if that is
    /// unknown.
    pub owned: Option<bool>,
    /// The unit that answers a request for a line, according to the maker of the processor.
    pub protocol: Protocol,
    /// The division of the threads into nodes and cores in a machine description.
    #[serde(skip)]
    pub layout: Layout,
    /// Notes on values that could not be measured, or not with certainty.
    pub notes: Vec<Note>,
}

/// The machine that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// The name of the processor or of the simulated machine.
    pub title: String,
    /// Whether the measured machine is this one; otherwise it is a simulated one.
    pub native: bool,
    /// The operating system's numbers of the hardware threads, in the order of the matrix.
    pub processors: Vec<usize>,
    /// The caches, node and package that each of these hardware threads shares with others.
    pub places: Vec<HardwareThread>,
    /// The sizes of the caches that a hardware thread has.
    pub caches: Caches,
    /// The number of stores that can wait in a thread's buffer, according to manuals; `None` if
    /// unknown.
    pub store_buffer: Option<usize>,
    /// The cycles per second of the processor during the measurement.
    pub hertz: f64,
    /// The ticks per second of the clock.
    pub ticks_per_second: f64,
    /// The cycles that reading the clock takes. They are subtracted from the measured times.
    pub clock_cycles: f64,
    /// The source of the topology: `hwloc`, `linux` or `description`.
    pub topology: &'static str,
}

/// A distance between two hardware threads.
#[derive(Clone, Debug, Serialize)]
pub struct Distance {
    /// The level that two threads at this distance have in common, in words.
    pub name: String,
    /// Whether two such threads belong to one core.
    pub same_core: bool,
    /// Whether two such threads have a cache in common.
    pub same_cache: bool,
    /// The number of pairs of threads at this distance.
    pub pairs: usize,
    /// The number of these pairs that were measured.
    pub measured: usize,
    /// One of these pairs, as the operating system's numbers.
    pub example: (usize, usize),
}

/// The cost of an access to a line that another thread has.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// The state that the line was in.
    #[serde(serialize_with = "state")]
    pub state: State,
    /// The index of the distance in [`Measurement::distances`].
    pub distance: usize,
    /// The cost of the access in cycles.
    pub cycles: Summary,
}

/// The cost of an access to a line that the thread itself has changed and that another thread has
/// read since.
#[derive(Clone, Debug, Serialize)]
pub struct Mine {
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// The index of the other thread's distance.
    pub distance: usize,
    /// The cost of the access in cycles.
    pub cycles: Summary,
}

/// The time for which a line stays with its owner while another thread's request is on its way.
#[derive(Clone, Debug, Serialize)]
pub struct Stays {
    /// The index of the other thread's distance.
    pub distance: usize,
    /// The time, as a share of the time that the other thread needs to get the line.
    pub share: Summary,
}

/// The number of loads that are under way at the same time if none has to wait for another.
#[derive(Clone, Debug, Serialize)]
pub struct UnderWay {
    /// The index of the distance to the thread that has changed the lines.
    pub distance: usize,
    /// The factor by which these loads are faster than loads that have to wait for each other.
    pub loads: Summary,
}

/// The costs of accesses that need no other thread.
#[derive(Clone, Debug, Serialize)]
pub struct Local {
    /// The costs of accesses to a line that the thread itself has changed.
    pub own: Vec<Own>,
    /// A load that finds its line in the second-level cache.
    pub l2: Option<Summary>,
    /// A load that finds its line in the last-level cache.
    pub llc: Option<Summary>,
    /// A load of a flushed line from the memory of the thread's node.
    pub memory: Summary,
    /// A load from a random position in a large memory, including the translation of its address.
    pub far_memory: Option<Summary>,
}

/// The cost of an access to a line that the thread itself has changed.
#[derive(Clone, Debug, Serialize)]
pub struct Own {
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// Its cost in cycles.
    pub cycles: Summary,
}

/// The cost of an access to a line that several threads share.
#[derive(Clone, Debug, Serialize)]
pub struct Shared {
    /// The number of other threads that share the line. They are the nearest to the one that
    /// accesses it.
    pub sharers: usize,
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// Its cost in cycles.
    pub cycles: Summary,
}

impl Measurement {
    /// The cycles of an access to a line in this state at this distance, if it was measured.
    pub fn cell(&self, access: Access, state: State, distance: usize) -> Option<&Summary> {
        let wanted =
            |cell: &&Cell| (cell.access, cell.state, cell.distance) == (access, state, distance);
        self.cells.iter().find(wanted).map(|cell| &cell.cycles)
    }

    /// The cycles of an access to a line that the thread itself has changed.
    pub fn own(&self, access: Access) -> Option<&Summary> {
        self.local.own.iter().find(|own| own.access == access).map(|own| &own.cycles)
    }

    /// The cycles of an access to a line that the thread itself has changed and that another thread
    /// has read since.
    pub fn mine(&self, access: Access, distance: usize) -> Option<&Summary> {
        let wanted = |mine: &&Mine| (mine.access, mine.distance) == (access, distance);
        self.mine.iter().find(wanted).map(|mine| &mine.cycles)
    }

    /// The distances at which a reader of a changed line takes the line over, so that the thread
    /// that has changed the line has to fetch it again.
    pub fn taken_over(&self) -> Vec<usize> {
        let own = self.own(Access::Load).map_or(0.0, |own| own.median);
        let asks = |&distance: &usize| {
            self.mine(Access::Load, distance).is_some_and(|mine| must_ask(mine.median, own))
        };
        (0..self.distances.len()).filter(asks).collect()
    }

    /// The time for which a line stays with its owner, as a share of the time that another core
    /// needs to get the line. This is the median over all distances between cores, if it was
    /// measured. It is `None` on machines that perform atomic operations in a cache that all cores
    /// share, since no line stays with an owner there.
    pub fn stay(&self) -> Option<f64> {
        let own = |access| self.own(access).map_or(0.0, |own| own.median);
        if must_ask(own(Access::FetchAndIncrement), own(Access::Load)) {
            return None;
        }
        let between_cores = |stays: &&Stays| !self.distances[stays.distance].same_core;
        let shares = self.stays.iter().filter(between_cores).map(|stays| stays.share.median);
        median(&shares.collect::<Vec<_>>())
    }

    /// The number of loads that a core has under way at the same time: the median over all
    /// distances between cores. `None` if it was not measured.
    pub fn under_way(&self) -> Option<f64> {
        let between_cores = |of: &&UnderWay| !self.distances[of.distance].same_core;
        let loads = self.under_way.iter().filter(between_cores).map(|of| of.loads.median);
        median(&loads.collect::<Vec<_>>())
    }

    /// Whether a description has a row for the state Owned. It has one if the machine has this
    /// state, and a changed line stays with its owner when others read it.
    pub fn describes_owned(&self) -> bool {
        self.owned == Some(true) && self.taken_over().is_empty()
    }

    /// Converts cycles to nanoseconds.
    pub fn nanoseconds(&self, cycles: f64) -> f64 {
        cycles * 1e9 / self.subject.hertz
    }
}

/// An access counts as one that had to ask other cores if it takes more than this many times as
/// long as an access to an own line, and also more than this many cycles longer. An access that
/// needs no other core takes about as long as an access to an own line or to a line in the
/// second-level cache.
const ASKING: (f64, f64) = (2.0, 20.0);

/// Whether an access of this many cycles had to ask other caches, if an access to an own line takes
/// `own` cycles.
pub fn must_ask(cycles: f64, own: f64) -> bool {
    cycles > ASKING.0 * own && cycles > own + ASKING.1
}

fn access<S: Serializer>(access: &Access, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(access_name(*access))
}

fn state<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state_name(*state))
}
