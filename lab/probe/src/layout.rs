//! The topology of a machine in the form that a machine description has. All nodes have the same
//! number of caches, all caches have the same number of threads, and there are distances between
//! nodes.
//!
//! A node is the smallest group of cores that are all equally near to each other; usually these
//! cores share a last-level cache. If there are no such groups, as in a mesh, each core is a node.
//! If the groups differ in size, all get the size of the smallest.

use syncline_sim::machine::MOST_CACHES;

use crate::topology::Topology;

/// A topology in the form that a machine description has.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// For each node its cores, and for each core its threads.
    nodes: Vec<Vec<Vec<usize>>>,
    /// The classes of distance in the description, each with the number that stands for it.
    columns: Vec<(usize, f64)>,
    distances: Vec<Vec<f64>>,
}

impl Layout {
    /// Derives the layout from a topology.
    pub fn of(topology: &Topology) -> Layout {
        let cores = cores(topology);
        let class = |a: &[usize], b: &[usize]| topology.class(a[0], b[0]);
        let apart = topology.classes.iter().take_while(|class| class.same_core).count();
        let near = |a: &[usize], b: &[usize]| class(a, b) == apart;
        let groups = groups(&cores, near);
        // Within a node the distance is 0. If each core is a node, the nearest other cores are at
        // distance 1.
        let (groups, nearest) = match groups {
            Some(groups) => (groups, 0.0),
            None => (cores.into_iter().map(|core| vec![core]).collect(), 1.0),
        };
        let nodes = with_equal_counts(groups);
        let at = |class: usize| (class - apart) as f64 + nearest;
        let between = |a: &Vec<Vec<usize>>, b: &Vec<Vec<usize>>| {
            if a[0][0] == b[0][0] { 0.0 } else { at(class(&a[0], &b[0])) }
        };
        let distances = nodes.iter().map(|a| nodes.iter().map(|b| between(a, b)).collect());
        Layout {
            distances: distances.collect(),
            columns: (apart..topology.classes.len()).map(|class| (class, at(class))).collect(),
            nodes,
        }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of cores of a node.
    pub fn cores_of_node(&self) -> usize {
        self.nodes[0].len()
    }

    /// The number of hardware threads of a core.
    pub fn threads_of_core(&self) -> usize {
        self.nodes[0][0].len()
    }

    /// The number of hardware threads.
    pub fn threads(&self) -> usize {
        self.nodes() * self.cores_of_node() * self.threads_of_core()
    }

    /// The classes of distance in the description, each with the number that stands for it, in
    /// ascending order. There are none if the machine has a single core.
    pub fn columns(&self) -> impl Iterator<Item = (usize, f64)> {
        self.columns.iter().copied()
    }

    /// The distance from each node to every node.
    pub fn distances(&self) -> &[Vec<f64>] {
        &self.distances
    }
}

/// The threads of each core.
fn cores(topology: &Topology) -> Vec<Vec<usize>> {
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for (thread, place) in topology.threads.iter().enumerate() {
        match cores.iter_mut().find(|core| topology.threads[core[0]].core == place.core) {
            Some(core) => core.push(thread),
            None => cores.push(vec![thread]),
        }
    }
    cores
}

/// Divides cores into groups so that all cores of a group are near each other. `None` if there is
/// no such division because nearness is not transitive.
fn groups(
    cores: &[Vec<usize>],
    near: impl Fn(&[usize], &[usize]) -> bool,
) -> Option<Vec<Vec<Vec<usize>>>> {
    let mut groups: Vec<Vec<Vec<usize>>> = Vec::new();
    for core in cores {
        let mut of_it = groups.iter_mut().filter(|group| group.iter().any(|c| near(c, core)));
        match (of_it.next(), of_it.next()) {
            (Some(group), None) if group.iter().all(|c| near(c, core)) => group.push(core.clone()),
            (None, _) => groups.push(vec![core.clone()]),
            _ => return None,
        }
    }
    Some(groups)
}

/// Makes the numbers of cores equal for all nodes, and the numbers of threads equal for all cores,
/// within the limits of the simulator.
fn with_equal_counts(mut nodes: Vec<Vec<Vec<usize>>>) -> Vec<Vec<Vec<usize>>> {
    let cores = nodes.iter().map(Vec::len).min().unwrap_or(1).min(MOST_CACHES);
    let threads = nodes.iter().flatten().map(Vec::len).min().unwrap_or(1);
    nodes.truncate(MOST_CACHES / cores);
    for node in &mut nodes {
        node.truncate(cores);
        node.iter_mut().for_each(|core| core.truncate(threads));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use syncline_sim::Machine;

    use super::*;
    use crate::topology::{HardwareThread, simulated};

    fn of_machine(name: &str) -> (Layout, Machine) {
        let machine = Machine::named(name).unwrap();
        (Layout::of(&simulated::topology(&machine)), machine)
    }

    #[test]
    fn dies_and_sockets_are_found_again() {
        for name in ["opteron", "xeon"] {
            let (layout, machine) = of_machine(name);
            let description = &machine.description;
            assert_eq!(layout.nodes(), description.nodes, "{name}");
            assert_eq!(layout.cores_of_node(), description.caches_per_node, "{name}");
            for (a, row) in layout.distances().iter().enumerate() {
                for (b, &distance) in row.iter().enumerate() {
                    assert_eq!(distance, machine.class(a, b) as f64, "{name} {a} {b}");
                }
            }
        }
    }

    #[test]
    fn in_a_mesh_each_core_is_a_node() {
        let (layout, machine) = of_machine("tilera");
        assert_eq!((layout.nodes(), layout.cores_of_node()), (36, 1));
        assert_eq!(layout.distances(), machine.description.distances, "hops");
    }

    #[test]
    fn threads_of_a_core_share_its_cache() {
        let (layout, _) = of_machine("niagara");
        assert_eq!((layout.nodes(), layout.cores_of_node(), layout.threads_of_core()), (1, 8, 8));
        assert_eq!(layout.columns().collect::<Vec<_>>(), [(1, 0.0)]);
    }

    fn place(processor: usize, core: usize, llc: usize) -> HardwareThread {
        HardwareThread { processor, core, llc: Some(llc), ..HardwareThread::default() }
    }

    #[test]
    fn the_smallest_group_gives_the_size() {
        // Six cores share one cache, and four share another one. The first core has two threads.
        let mut places = vec![place(0, 0, 0), place(1, 0, 0)];
        places.extend((1..6).map(|n| place(n + 1, n, 0)));
        places.extend((6..10).map(|n| place(n + 1, n, 1)));
        let layout = Layout::of(&Topology::of_threads(places, |_, _| 0));
        assert_eq!((layout.nodes(), layout.cores_of_node(), layout.threads_of_core()), (2, 4, 1));
        assert_eq!(layout.threads(), 8);
    }

    #[test]
    fn one_core_is_one_node() {
        for threads in [1, 2] {
            let places = (0..threads).map(|n| place(n, 0, 0)).collect();
            let layout = Layout::of(&Topology::of_threads(places, |_, _| 0));
            assert_eq!((layout.nodes(), layout.cores_of_node()), (1, 1));
            assert_eq!(layout.threads_of_core(), threads);
            assert_eq!(layout.columns().count(), 0);
        }
    }

    #[test]
    fn no_more_caches_than_can_be_simulated() {
        let places = (0..600).map(|n| place(n, n, n / 8)).collect();
        let layout = Layout::of(&Topology::of_threads(places, |_, _| 0));
        assert_eq!((layout.nodes(), layout.cores_of_node()), (32, 8));
    }
}
