//! The description of a machine in a JSON file. The format is the same for the machines that come
//! with Syncline, for measured machines, and for planned ones. `docs/machines.md` describes the
//! fields.

use serde::{Deserialize, Serialize};

/// The format that this version reads and writes.
pub const FORMAT: &str = "syncline-machine/1";

/// The size of a cache line in bytes, the same on every machine.
pub const LINE: usize = 64;

/// The most hardware threads that a machine may have.
pub const MOST_THREADS: usize = 4096;

/// The description of a machine in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The format's name, [`FORMAT`].
    pub format: String,
    /// The name of the machine on a command line.
    pub name: String,
    /// The title of the machine, in one line of text.
    pub title: String,
    /// The source of the numbers.
    pub source: String,
    /// The fields for which no number is published, such as `load.shared` or `levels`: their values
    /// are guesses, or copied from a similar machine. The simulator does not use this list; it is
    /// for people and scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Clock cycles per second.
    pub hertz: f64,
    /// The unit that answers a request for a line.
    pub protocol: Protocol,
    /// Whether a reader of a changed line takes it over (migratory sharing): the former owner loses
    /// the line, and the reader may write to it without another request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_take_over: bool,
    /// The rule that determines the home of a line.
    pub homes: Homes,
    /// The nodes that have memory; all nodes if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<usize>,
    /// The number of nodes. A node is a socket, die or tile that has memory or a part of the
    /// last-level cache.
    pub nodes: usize,
    /// The number of private caches per node; usually one per core.
    pub caches_per_node: usize,
    /// The number of hardware threads that share a private cache.
    pub threads_per_cache: usize,
    /// The socket of each node, if sockets have several nodes; if empty, each node is a socket.
    /// Hierarchical locks group threads by socket first, then by node within it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<usize>,
    /// Names of the columns of the tables below.
    pub columns: Vec<String>,
    /// The distance for each column, in ascending order. Costs are interpolated between columns;
    /// beyond the last column they are extrapolated from the last two.
    pub columns_at: Vec<f64>,
    /// The distance from each node to each node; 0 to itself.
    pub distances: Vec<Vec<f64>>,
    /// Cycles of accesses that need no other cache.
    pub local: Local,
    /// The levels of caches, from a core's first to the node's last. The size of the last level is
    /// not simulated. If the list is empty, every line that a core has is in its first level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// The instructions that belong to each access; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// The number of stores of a thread that may wait in its store buffer while the thread goes on.
    /// If absent, there is no store buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_buffer: Option<usize>,
    /// The share of an access's cycles for which the line stays with the cache from which it is
    /// fetched, so that threads of that cache can still use the line; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<f64>,
    /// The most accesses that a core has under way at the same time, if none of them needs another
    /// one's result. If absent, each access begins after the one before it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<usize>,
    /// Cycles of a load, by the line's state.
    pub load: Costs,
    /// Cycles of a store.
    pub store: Costs,
    /// Cycles of a compare-and-swap.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub cas: Costs,
    /// Cycles of a fetch-and-increment.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub fai: Costs,
    /// Cycles of a test-and-set; on a machine without caches, of one on a register.
    pub tas: Costs,
    /// Cycles of a swap.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub swap: Costs,
    /// The cycles for which one access keeps a shared unit busy, on a machine without caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<Busy>,
    /// Messages in hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// The way in which the operating system shares a processor among threads.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// Other measurements, which the simulator does not use; for people and scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<serde_json::Value>,
}

/// The unit that answers a request for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// A directory at the line's home knows the line's owner, but not its sharers. A request goes
    /// from the asking core to the home, from there to the owner, and back (AMD's probe filter).
    Directory,
    /// The nearest cache that has the line answers. A write must also reach the farthest.
    Snooping,
    /// The line's home answers (Tilera's distributed cache).
    Home,
    /// The memory at the line's home answers, since no cache may have the line (the SCC's shared
    /// memory). The only atomic operation is test-and-set on a register.
    Uncached,
}

/// The rule that determines the home of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Homes {
    /// The node that touched the line first or, if it has no memory, the nearest node that has.
    FirstTouch,
    /// A node by a hash, which distributes the homes evenly over all nodes.
    Hashed,
}

/// Cycles of accesses that need no other cache. A kind of access that is absent leaves the core
/// even if the core has the line, as stores do if caches write through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Cycles of a load.
    pub load: u32,
    /// Cycles of a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<u32>,
    /// Cycles of an atomic operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic: Option<u32>,
}

/// A level of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Size of the level, in bytes.
    pub bytes: usize,
    /// Cycles of a load that finds its line in this level of its own core or, for the last level,
    /// of its node.
    pub cycles: u32,
}

/// The instructions that belong to an access to memory: addresses, comparisons, branches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Cycles of the instructions of one access, for a thread that has a core to itself.
    pub cycles: f64,
    /// The number of threads of a core that can run without slowing each other down; if there are
    /// more, they take turns.
    pub threads: usize,
}

/// Cycles of a kind of access, by the line's state before the access; in each row, one value for
/// each column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// One cache has the line, and has changed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modified: Vec<f64>,
    /// One cache has changed the line, and others have copies. Same as `modified` if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<f64>,
    /// One cache has the line, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<f64>,
    /// Two caches have the line, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<f64>,
    /// All caches of the machine have the line, unchanged. Costs for fewer sharers are interpolated
    /// between two and all. Same as `shared` if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_by_all: Vec<f64>,
    /// No cache has the line. Required for loads and, on a machine without caches, for `store` and
    /// `tas`. If absent, other accesses cost as much as a load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<f64>,
}

impl Costs {
    fn is_empty(&self) -> bool {
        *self == Costs::default()
    }
}

/// Cycles for which one access keeps a shared unit busy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// Cycles for which an access keeps the memory of a node busy.
    pub memory: f64,
    /// Cycles for which an access keeps a test-and-set register busy.
    pub register: f64,
}

/// The costs of messages in hardware, which any hardware thread can send to any other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Cycles that the sender spends on each message.
    pub send: f64,
    /// Cycles that the receiver spends on each message.
    pub receive: f64,
    /// Cycles that the sender, and the receiver, additionally spend on each word of 64 bits.
    pub word: f64,
    /// Cycles on the way for each unit of distance.
    pub hop: f64,
    /// The most words that may wait at a receiver. A sender whose message would exceed this waits.
    pub room: usize,
}

/// The way in which an operating system shares processors among more threads than there are
/// processors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// Seconds for which a thread runs while others wait for its processor.
    pub slice: f64,
    /// Seconds of a switch from one thread to the next.
    pub switch: f64,
    /// Seconds from a wake-up until the thread can run.
    pub wake: f64,
    /// Seconds between two looks of an idle hardware thread for waiting threads of its own node.
    pub near: f64,
    /// Seconds between two of its looks for waiting threads of other nodes; a multiple of `near`.
    pub far: f64,
    /// A thread is taken over from another node only if that node has more than this many times the
    /// threads of the idle hardware thread's node.
    pub imbalance: f64,
}

impl Default for Scheduler {
    /// Values close to Linux's: its slice under load, and the times of a switch and of a wake-up by
    /// futex. Idle processors look for work as in Linux 2.6.32 (`SD_MC_INIT` and `SD_NODE_INIT` in
    /// its `topology.h`): at the longest interval of each kind, which an idle machine reaches, and
    /// with an imbalance of 125 %.
    fn default() -> Self {
        Scheduler {
            slice: 3e-3,
            switch: 1.5e-6,
            wake: 4e-6,
            near: 4e-3,
            far: 32e-3,
            imbalance: 1.25,
        }
    }
}
