//! A machine as a file describes it: JSON, the same for the machines that come with Syncline,
//! for one that was measured, and for one that is only planned. `docs/machines.md` describes
//! the fields.

use serde::{Deserialize, Serialize};

/// The format that this version reads and writes.
pub const FORMAT: &str = "syncline-machine/1";

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
    /// Cycles in a second.
    pub hertz: f64,
    /// Who answers a request for a line.
    pub protocol: Protocol,
    /// Where the home of a line is.
    pub homes: Homes,
    /// Nodes: sockets, dies or tiles; what has memory or a part of the last-level cache.
    pub nodes: usize,
    /// Private caches of a node: cores, as a rule.
    pub caches_per_node: usize,
    /// Hardware threads that share a private cache.
    pub threads_per_cache: usize,
    /// Names of the columns of the tables below.
    pub columns: Vec<String>,
    /// The distance that each column stands for, ascending; between two columns costs are
    /// interpolated, and beyond the last they go on as between the last two.
    pub columns_at: Vec<f64>,
    /// Distance from each node to each other; 0 within a node.
    pub distances: Vec<Vec<f64>>,
    /// Cycles of accesses that need nobody else.
    pub local: Local,
    /// Cycles of a load, by the line's state.
    pub load: Costs,
    /// Cycles of a store.
    pub store: Costs,
    /// Cycles of a compare-and-swap.
    pub cas: Costs,
    /// Cycles of a fetch-and-increment.
    pub fai: Costs,
    /// Cycles of a test-and-set.
    pub tas: Costs,
    /// Cycles of a swap.
    pub swap: Costs,
    /// How its operating system shares a processor.
    #[serde(default)]
    pub scheduler: Scheduler,
}

/// Who answers a request for a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// A directory at the line's home knows its owner, but not who shares it: the way is from
    /// the one who asks to the home, to the owner, and back (AMD's probe filter).
    Directory,
    /// The nearest who has it answers, and the farthest has to be told of a write.
    Snooping,
    /// The line's home answers (Tilera's distributed cache).
    Home,
}

/// Where the home of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Homes {
    /// At the node that touched it first.
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

/// Cycles by the state that a line was in, and by distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// One cache has it, changed.
    pub modified: Vec<f64>,
    /// One cache has it changed, and others have copies; as `modified` where it is not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<f64>,
    /// One cache has it, unchanged.
    pub exclusive: Vec<f64>,
    /// Several caches have it, unchanged.
    pub shared: Vec<f64>,
    /// No cache has it. Needed for loads; others take as long where it is not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<f64>,
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
}

impl Default for Scheduler {
    /// Linux's, about: its slice under load, and what a switch and a wake-up by futex take.
    fn default() -> Self {
        Scheduler { slice: 3e-3, switch: 1.5e-6, wake: 4e-6 }
    }
}
