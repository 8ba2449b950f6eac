//! What was measured, as plain data: reports show it, and a machine description is made of it.

use serde::{Serialize, Serializer};
use syncline_sim::machine::Protocol;

use crate::case::{Access, State, access_name, state_name};
use crate::layout::Layout;
use crate::note::Note;
use crate::topology::{Caches, HardwareThread};
use syncline_statistics::{Summary, median};

/// What was measured. Latencies are in cycles of the processor.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// What it was measured on.
    pub subject: Subject,
    /// The distances that occur, from near to far.
    pub distances: Vec<Distance>,
    /// Accesses to lines that others have.
    pub cells: Vec<Cell>,
    /// Accesses to lines that the thread itself has changed and another has read since.
    pub mine: Vec<Mine>,
    /// For which share of the time that another thread needs to get a line it stays with its owner.
    pub stays: Vec<Stays>,
    /// How many loads of lines that another thread has changed are under way at once.
    pub under_way: Vec<UnderWay>,
    /// Accesses that need nobody else.
    pub local: Local,
    /// Accesses to lines that several share.
    pub sharers: Vec<Shared>,
    /// Loads of lines that another thread has changed: by the thread that loads, then by the one
    /// that has changed it. Nothing of a thread and itself.
    pub matrix: Vec<Vec<Option<f64>>>,
    /// Whether a changed line that others read stays with its owner; `None` if it is not known.
    pub owned: Option<bool>,
    /// Which unit answers a request for a line; by the processor's maker.
    pub protocol: Protocol,
    /// How a machine description divides the threads.
    #[serde(skip)]
    pub layout: Layout,
    /// What could not be measured, or not with certainty.
    pub notes: Vec<Note>,
}

/// What was measured on.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// The processor, or the simulated machine.
    pub title: String,
    /// It is this machine, and not a simulated one.
    pub native: bool,
    /// The operating system's numbers of the hardware threads, in the order of the matrix.
    pub processors: Vec<usize>,
    /// What each of them shares with others.
    pub places: Vec<HardwareThread>,
    /// Sizes of a hardware thread's caches.
    pub caches: Caches,
    /// Stores that may wait in a thread's buffer, by manuals; `None` where it is not known.
    pub store_buffer: Option<usize>,
    /// Cycles of the processor in a second, while it was measured.
    pub hertz: f64,
    /// Ticks of the clock in a second.
    pub ticks_per_second: f64,
    /// Cycles that reading the clock takes; they are subtracted.
    pub clock_cycles: f64,
    /// Where the topology is from: `hwloc`, `linux` or `description`.
    pub topology: &'static str,
}

/// A distance between two hardware threads.
#[derive(Clone, Debug, Serialize)]
pub struct Distance {
    /// In words.
    pub name: String,
    /// They are threads of one core.
    pub same_core: bool,
    /// They have a cache in common.
    pub same_cache: bool,
    /// How many pairs of threads are at this distance.
    pub pairs: usize,
    /// How many of them were measured.
    pub measured: usize,
    /// One of these, by the operating system's numbers.
    pub example: (usize, usize),
}

/// An access to a line that another thread has.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// The state that the line was in.
    #[serde(serialize_with = "state")]
    pub state: State,
    /// The distance, as an index.
    pub distance: usize,
    /// Cycles.
    pub cycles: Summary,
}

/// An access to a line that the thread itself has changed and another has read since.
#[derive(Clone, Debug, Serialize)]
pub struct Mine {
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// How far the other is, as an index.
    pub distance: usize,
    /// Cycles.
    pub cycles: Summary,
}

/// How long a line stays with its owner, while another thread's request is on its way.
#[derive(Clone, Debug, Serialize)]
pub struct Stays {
    /// How far the other is, as an index.
    pub distance: usize,
    /// The share of the time that the other needs to get it.
    pub share: Summary,
}

/// How many loads are under way at once, if none waits for another.
#[derive(Clone, Debug, Serialize)]
pub struct UnderWay {
    /// How far the thread is that has changed the lines, as an index.
    pub distance: usize,
    /// How many times faster they are than loads that wait for each other.
    pub loads: Summary,
}

/// Accesses that need nobody else.
#[derive(Clone, Debug, Serialize)]
pub struct Local {
    /// Of a line that the thread itself has changed.
    pub own: Vec<Own>,
    /// A load that finds its line in the second-level cache.
    pub l2: Option<Summary>,
    /// A load that finds its line in the last-level cache.
    pub llc: Option<Summary>,
    /// A load from the memory of the thread's node, of a line that was flushed.
    pub memory: Summary,
    /// A load from a random place in much memory, with what it takes to look up the page.
    pub far_memory: Option<Summary>,
}

/// An access to a line that the thread itself has changed.
#[derive(Clone, Debug, Serialize)]
pub struct Own {
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// Cycles.
    pub cycles: Summary,
}

/// An access to a line that several threads share.
#[derive(Clone, Debug, Serialize)]
pub struct Shared {
    /// How many threads, not counting the one that accesses it; the nearest.
    pub sharers: usize,
    /// The operation.
    #[serde(serialize_with = "access")]
    pub access: Access,
    /// Cycles.
    pub cycles: Summary,
}

impl Measurement {
    /// Cycles of an access to a line in a state over a distance, if it was measured.
    pub fn cell(&self, access: Access, state: State, distance: usize) -> Option<&Summary> {
        let wanted =
            |cell: &&Cell| (cell.access, cell.state, cell.distance) == (access, state, distance);
        self.cells.iter().find(wanted).map(|cell| &cell.cycles)
    }

    /// Cycles of an access to a line that the thread itself has changed.
    pub fn own(&self, access: Access) -> Option<&Summary> {
        self.local.own.iter().find(|own| own.access == access).map(|own| &own.cycles)
    }

    /// Cycles of an access to a line that the thread itself has changed and another has read since.
    pub fn mine(&self, access: Access, distance: usize) -> Option<&Summary> {
        let wanted = |mine: &&Mine| (mine.access, mine.distance) == (access, distance);
        self.mine.iter().find(wanted).map(|mine| &mine.cycles)
    }

    /// The distances at which a read of a changed line takes it over: the thread that had changed
    /// it has to fetch it again.
    pub fn taken_over(&self) -> Vec<usize> {
        let own = self.own(Access::Load).map_or(0.0, |own| own.median);
        let asks = |&distance: &usize| {
            self.mine(Access::Load, distance).is_some_and(|mine| must_ask(mine.median, own))
        };
        (0..self.distances.len()).filter(asks).collect()
    }

    /// For which share of the time that another core needs to get a line it stays with its owner,
    /// if that was measured: the middle one of all distances between cores. Where atomic operations
    /// go out to a cache that all have, no line stays with anybody.
    pub fn stay(&self) -> Option<f64> {
        let own = |access| self.own(access).map_or(0.0, |own| own.median);
        if must_ask(own(Access::FetchAndIncrement), own(Access::Load)) {
            return None;
        }
        let between_cores = |stays: &&Stays| !self.distances[stays.distance].same_core;
        let shares = self.stays.iter().filter(between_cores).map(|stays| stays.share.median);
        median(&shares.collect::<Vec<_>>())
    }

    /// How many loads a core has under way at once, if that was measured: the middle one of all
    /// distances between cores.
    pub fn under_way(&self) -> Option<f64> {
        let between_cores = |of: &&UnderWay| !self.distances[of.distance].same_core;
        let loads = self.under_way.iter().filter(between_cores).map(|of| of.loads.median);
        median(&loads.collect::<Vec<_>>())
    }

    /// Whether a description has a row for the owned state: where the machine has that state, and
    /// a changed line stays with its owner when others read it.
    pub fn describes_owned(&self) -> bool {
        self.owned == Some(true) && self.taken_over().is_empty()
    }

    /// Nanoseconds of this many cycles.
    pub fn nanoseconds(&self, cycles: f64) -> f64 {
        cycles * 1e9 / self.subject.hertz
    }
}

/// An access that needs nobody is as fast as that to an own line, or to one in the second-level
/// cache; one that has to ask others takes at least this many times as long, and this many cycles
/// longer.
const ASKING: (f64, f64) = (2.0, 20.0);

/// Whether an access had to ask others, by its cycles and those of an own line.
pub fn must_ask(cycles: f64, own: f64) -> bool {
    cycles > ASKING.0 * own && cycles > own + ASKING.1
}

fn access<S: Serializer>(access: &Access, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(access_name(*access))
}

fn state<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state_name(*state))
}
