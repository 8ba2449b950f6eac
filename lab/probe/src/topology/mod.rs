//! The topology of a machine: its hardware threads, and how far they are from each other.
//!
//! The position of a hardware thread is a list of the levels that it shares with other threads: its
//! core, its second-level and last-level caches, its NUMA node, its package. The distance between
//! two threads is the first level that they have in common, or none. If they are on different
//! nodes, the distance also includes the firmware's distance between these nodes. Each distance
//! that occurs is a [`Class`], and the probe measures each class.

mod here;
pub mod hwloc;
pub(crate) mod linux;
mod order;
pub mod simulated;
mod xml;

use std::collections::BTreeSet;

use serde::Serialize;

/// The source of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The library hwloc.
    Hwloc,
    /// Linux's lists of processors.
    Linux {
        /// The reason why hwloc could not be used.
        why: String,
    },
    /// The description of a simulated machine.
    Description,
}

/// A hardware thread and what it shares with others. The numbers only identify groups. `None` means
/// that there is no such group, or that it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HardwareThread {
    /// The operating system's number of this hardware thread.
    pub processor: usize,
    /// The core.
    pub core: usize,
    /// The second-level cache.
    pub l2: Option<usize>,
    /// The last-level cache.
    pub llc: Option<usize>,
    /// The operating system's number of the NUMA node.
    pub node: usize,
    /// The package (socket).
    pub package: usize,
}

/// A class of distances between two hardware threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The level that the two threads have in common, in words.
    pub name: String,
    /// Whether the two threads belong to one core.
    pub same_core: bool,
    /// Whether the two threads have a cache in common.
    pub same_cache: bool,
}

/// The sizes of a hardware thread's data caches in bytes; 0 if unknown or absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "they say what they are")]
pub struct Caches {
    pub l1: usize,
    pub l2: usize,
    pub llc: usize,
}

/// The hardware threads of a machine and the distances between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The source of this information.
    pub source: Source,
    /// The hardware threads that this process may use.
    pub threads: Vec<HardwareThread>,
    /// The classes of distances that occur, from near to far.
    pub classes: Vec<Class>,
    /// The sizes of the data caches.
    pub caches: Caches,
    /// The processor's name, if it is known.
    pub processor: Option<String>,
    /// The class of each pair of threads, in rows.
    class_of: Vec<u8>,
}

/// The distance between two threads: the level at which they share something, and the firmware's
/// distance between their nodes.
type Distance = (Level, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Core,
    L2,
    Llc,
    Node,
    Package,
    Machine,
}

impl Topology {
    /// The topology of these threads. `nodes` returns the firmware's distance between two NUMA
    /// nodes, or 0 if it is unknown.
    pub(crate) fn of_threads(
        threads: Vec<HardwareThread>,
        nodes: impl Fn(usize, usize) -> u32,
    ) -> Topology {
        // Some firmware gives different distances in the two directions.
        let nodes = |a, b| nodes(a, b).max(nodes(b, a));
        let distance = |a: &HardwareThread, b: &HardwareThread| -> Distance {
            let shared = |a: Option<usize>, b| a.is_some() && a == b;
            match () {
                () if a.core == b.core => (Level::Core, 0),
                () if shared(a.l2, b.l2) => (Level::L2, 0),
                () if shared(a.llc, b.llc) => (Level::Llc, 0),
                () if a.node == b.node => (Level::Node, 0),
                () if a.package == b.package => (Level::Package, nodes(a.node, b.node)),
                () => (Level::Machine, nodes(a.node, b.node)),
            }
        };
        Topology::of_distances(threads, distance, |&(level, far)| {
            let name = match level {
                Level::Core => "same core",
                Level::L2 => "same L2",
                Level::Llc => "same last-level cache",
                Level::Node => "same NUMA node",
                Level::Package => "same package",
                Level::Machine => "other package",
            };
            let known = level >= Level::Package && far > 0;
            let name = if known { format!("{name}, NUMA {far}") } else { name.to_owned() };
            Class { name, same_core: level == Level::Core, same_cache: level <= Level::Llc }
        })
    }

    /// The topology of these threads. `distance` returns the distance between two threads, and
    /// `class` returns the class of a distance.
    fn of_distances<D: Ord + Clone>(
        threads: Vec<HardwareThread>,
        distance: impl Fn(&HardwareThread, &HardwareThread) -> D,
        class: impl Fn(&D) -> Class,
    ) -> Topology {
        let others = |n: usize| threads[..n].iter().chain(&threads[n + 1..]);
        let each = threads.iter().enumerate();
        let distances: BTreeSet<D> =
            each.flat_map(|(n, a)| others(n).map(|b| distance(a, b)).collect::<Vec<_>>()).collect();
        let distances: Vec<D> = distances.into_iter().collect();
        let index = |d: D| distances.binary_search(&d).unwrap_or(0) as u8;
        let pairs = threads.iter().flat_map(|a| threads.iter().map(move |b| (a, b)));
        let class_of = pairs.map(|(a, b)| index(distance(a, b))).collect();
        Topology {
            source: Source::Description,
            classes: distances.iter().map(class).collect(),
            caches: Caches::default(),
            processor: None,
            class_of,
            threads,
        }
    }

    /// The class of the distance between two different threads, as an index into
    /// [`Topology::classes`]. The threads are indices into [`Topology::threads`].
    pub fn class(&self, a: usize, b: usize) -> usize {
        usize::from(self.class_of[a * self.threads.len() + b])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages, each with two NUMA nodes. Each node has four cores with two threads, and two
    /// cores share a second-level cache.
    fn large() -> Topology {
        let places = (0..32).map(|processor| HardwareThread {
            processor,
            core: processor / 2,
            l2: Some(processor / 4),
            llc: Some(processor / 8),
            node: processor / 8,
            package: processor / 16,
        });
        Topology::of_threads(places.collect(), |a, b| if a / 2 == b / 2 { 12 } else { 32 })
    }

    #[test]
    fn each_distance_is_a_class_from_near_to_far() {
        let large = large();
        let names: Vec<&str> = large.classes.iter().map(|class| &*class.name).collect();
        let expected = [
            "same core",
            "same L2",
            "same last-level cache",
            "same package, NUMA 12",
            "other package, NUMA 32",
        ];
        assert_eq!(names, expected);
        let from_first = [1, 2, 4, 8, 16].map(|other| large.class(0, other));
        assert_eq!(from_first, [0, 1, 2, 3, 4]);
        assert!(large.classes[0].same_core && !large.classes[1].same_core);
    }

    #[test]
    fn unknown_caches_are_not_shared() {
        let places =
            (0..2).map(|n| HardwareThread { processor: n, core: n, ..HardwareThread::default() });
        let topology = Topology::of_threads(places.collect(), |_, _| 10);
        assert_eq!(topology.classes.len(), 1);
        assert_eq!(topology.classes[0].name, "same NUMA node");
    }

    #[test]
    fn one_processor_has_no_distances() {
        let topology = Topology::of_threads(vec![HardwareThread::default()], |_, _| 10);
        assert!(topology.classes.is_empty());
    }
}
