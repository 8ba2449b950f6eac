//! A machine as a file describes it: JSON, the same for the machines that come with Syncline,
//! for one that was measured, and for one that is only planned. `docs/machines.md` describes
//! the fields.

use serde::{Deserialize, Serialize};

/// The format that this version reads and writes.
pub const FORMAT: &str = "syncline-machine/1";

/// Bytes of a line; every machine has the same.
pub const LINE: usize = 64;

/// The most private caches that a machine may have.
pub const MOST_CACHES: usize = 256;

/// The most hardware threads that a machine may have.
pub const MOST_THREADS: usize = 4096;

/// A machine as a file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// [`FORMAT`]
    pub format: String,
    /// What to call it on a command line.
    pub name: String,
    /// What it is, in one line.
    pub title: String,
    /// Where the numbers come from.
    pub source: String,
    /// The fields for which nobody has published a number, `load.shared` or `levels`: what they
    /// hold is a guess, or copied from a neighbour. For people and scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Cycles in a second.
    pub hertz: f64,
    /// Which unit answers a request for a line.
    pub protocol: Protocol,
    /// Whether a reader takes a changed line over: the former owner loses it, and the reader may
    /// write without asking (migratory sharing).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_take_over: bool,
    /// Where the home of a line is.
    pub homes: Homes,
    /// The nodes that have memory; all of them where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<usize>,
    /// Nodes: sockets, dies or tiles; what has memory or a part of the last-level cache.
    pub nodes: usize,
    /// Private caches of a node: cores, as a rule.
    pub caches_per_node: usize,
    /// Hardware threads that share a private cache.
    pub threads_per_cache: usize,
    /// The socket of each node, where a socket has several; else each node is one. Hierarchical
    /// locks group threads by it first, and by node within it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<usize>,
    /// Names of the columns of the tables below.
    pub columns: Vec<String>,
    /// The distance that each column stands for, ascending; between two columns costs are
    /// interpolated, and beyond the last they go on as between the last two.
    pub columns_at: Vec<f64>,
    /// Distance from each node to each other; 0 within a node.
    pub distances: Vec<Vec<f64>>,
    /// Cycles of accesses that need nobody else.
    pub local: Local,
    /// The levels of caches, from a core's first to the node's last; the last one's size is not
    /// simulated. Where none are named, all that a core has is near.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// What a core does besides its accesses; nothing where it is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Instructions>,
    /// Stores that a thread may have begun and not done while it goes on; `None` where it is not
    /// named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_buffer: Option<usize>,
    /// For which share of an access's cycles a line stays with the cache that it is fetched from,
    /// whose threads go on using it; not at all where it is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<f64>,
    /// Accesses that a core has under way at once, none of which needs what another one brings;
    /// each waits for the one before where it is not named.
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
    /// Cycles of a test-and-set; without caches, of one on a register.
    pub tas: Costs,
    /// Cycles of a swap.
    #[serde(default, skip_serializing_if = "Costs::is_empty")]
    pub swap: Costs,
    /// How long what all share is busy with one access, where there are no caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<Busy>,
    /// Messages in hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Messages>,
    /// How its operating system shares a processor.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// What was measured besides, for people and scripts; it is not simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<serde_json::Value>,
}

/// Which unit answers a request for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// A directory at the line's home knows its owner, but not its sharers: the way is from the
    /// asking core to the home, to the owner, and back (AMD's probe filter).
    Directory,
    /// The nearest cache that has it answers, and the farthest has to be told of a write.
    Snooping,
    /// The line's home answers (Tilera's distributed cache).
    Home,
    /// The memory at the line's home answers, since no cache may have the line (the SCC's shared
    /// memory). The only atomic operation is test-and-set on a register.
    Uncached,
}

/// Where the home of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Homes {
    /// At the node that touched it first, or at the nearest to it that has memory.
    FirstTouch,
    /// Anywhere, evenly.
    Hashed,
}

/// Cycles of accesses that need nobody else. A kind that is not named goes out even when the
/// line is the thread's own, as stores do where caches write through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Of a load.
    pub load: u32,
    /// Of a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<u32>,
    /// Of an atomic operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic: Option<u32>,
}

/// A level of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its size.
    pub bytes: usize,
    /// Cycles of a load that finds its line there, by the core itself.
    pub cycles: u32,
}

/// The instructions that come with an access to memory: addresses, comparisons, branches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Cycles of those of one access, by a thread that has a core to itself.
    pub cycles: f64,
    /// Threads of a core that do not slow each other down; more take turns.
    pub threads: usize,
}

/// Cycles by the state that a line was in, and by distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// One cache has it, changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modified: Vec<f64>,
    /// One cache has it changed, and others have copies; as `modified` where it is not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<f64>,
    /// One cache has it, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclusive: Vec<f64>,
    /// Two caches have it, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<f64>,
    /// All caches of the machine have it, unchanged; between two and all, costs are
    /// interpolated. As `shared` where it is not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_by_all: Vec<f64>,
    /// No cache has it. Needed for loads; others take as long where it is not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<f64>,
}

impl Costs {
    fn is_empty(&self) -> bool {
        *self == Costs::default()
    }
}

/// Cycles for which what all share is busy with one access.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// Of the memory of a node.
    pub memory: f64,
    /// Of a test-and-set register.
    pub register: f64,
}

/// Messages in hardware, from any cache's threads to any other's: cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Of the sender, for a message.
    pub send: f64,
    /// Of the receiver, for a message.
    pub receive: f64,
    /// Of either of them, for each word of 64 bits.
    pub word: f64,
    /// On the way, for each unit of distance.
    pub hop: f64,
    /// Words that wait at a receiver at most; a thread that sends more waits.
    pub room: usize,
}

/// How an operating system shares a processor among more threads than it has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// Seconds that a thread runs while others want its processor.
    pub slice: f64,
    /// Seconds from one thread to the next.
    pub switch: f64,
    /// Seconds from a wake-up until the thread can run.
    pub wake: f64,
    /// Seconds from one look of an idle hardware thread for threads that wait on its node to the
    /// next.
    pub near: f64,
    /// Seconds between its looks for threads that wait on other nodes; a multiple of `near`.
    pub far: f64,
    /// How many times its own node's threads another one must have for it to take one over.
    pub imbalance: f64,
}

impl Default for Scheduler {
    /// Linux's, about: its slice under load, and what a switch and a wake-up by futex take. How
    /// idle ones look is that of 2.6.32 (`SD_MC_INIT` and `SD_NODE_INIT` of its `topology.h`): the
    /// longest interval of each, to which an idle machine's have grown, and 125 %.
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
