//! The distances between a machine's nodes, and the caches at each distance from a node.

use super::description::Description;
use crate::caches::Caches;

/// Distances as classes: class 0 is the least distance that occurs on the machine, class 1 the next
/// greater one, and so on.
#[derive(Debug)]
pub struct Distances {
    /// The node of each cache.
    nodes: Vec<u16>,
    /// The class of the distance between each two nodes.
    classes: Vec<u8>,
    /// The caches at each class of distance from each node, by node and class.
    around: Vec<Vec<Caches>>,
}

impl Distances {
    /// The distances of a machine; `kinds` has the different distances in ascending order.
    pub fn of(d: &Description, kinds: &[f64]) -> Distances {
        let class = |distance: &f64| kinds.iter().position(|kind| kind == distance);
        let all = d.distances.iter().flatten();
        let classes: Vec<u8> = all.filter_map(class).map(|class| class as u8).collect();
        let caches = 0..d.nodes * d.caches_per_node;
        let nodes: Vec<u16> = caches.map(|cache| (cache / d.caches_per_node) as u16).collect();
        let mut around = vec![vec![Caches::default(); kinds.len()]; d.nodes];
        for (from, around) in around.iter_mut().enumerate() {
            for (cache, &node) in nodes.iter().enumerate() {
                around[usize::from(classes[from * d.nodes + usize::from(node)])].add(cache);
            }
        }
        Distances { nodes, classes, around }
    }

    #[inline]
    pub fn node_of(&self, cache: usize) -> usize {
        usize::from(self.nodes[cache])
    }

    #[inline]
    pub fn class(&self, a: usize, b: usize) -> usize {
        usize::from(self.classes[a * self.around.len() + b])
    }

    /// The class of the greatest distance.
    pub fn farthest(&self) -> usize {
        self.classes.iter().copied().max().map_or(0, usize::from)
    }

    /// The class of the distance from a node to the nearest of these caches; `None` if the set is
    /// empty.
    #[inline]
    pub fn nearest_of(&self, node: usize, caches: &Caches) -> Option<usize> {
        self.around[node].iter().position(|there| there.meets(caches))
    }

    /// The class of the distance from a node to the farthest of these caches; `None` if the set is
    /// empty.
    #[inline]
    pub fn farthest_of(&self, node: usize, caches: &Caches) -> Option<usize> {
        self.around[node].iter().rposition(|there| there.meets(caches))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    #[test]
    fn the_nearest_and_the_farthest_are_those_that_a_search_finds() {
        for name in ["opteron", "xeon", "niagara", "tilera"] {
            let machine = Machine::named(name).unwrap();
            for step in [1, 3, 7, machine.caches()] {
                let mut set = Caches::default();
                let members = || (step / 2..machine.caches()).step_by(step);
                members().for_each(|cache| set.add(cache));
                for node in 0..machine.description.nodes {
                    let class = |cache| machine.class(node, machine.node_of(cache));
                    let distances = &machine.distances;
                    assert_eq!(distances.nearest_of(node, &set), members().map(class).min());
                    assert_eq!(distances.farthest_of(node, &set), members().map(class).max());
                }
            }
        }
    }
}
