//! Chooses the threads that measure: for each distance a few pairs of hardware threads, and with
//! each pair a further sharer, if there is one.

use crate::topology::Topology;

/// The threads that measure together, as indices into the topology's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crew {
    /// The thread that measures.
    pub asker: usize,
    /// The thread that has the line, at the distance that is to be measured.
    pub holder: usize,
    /// A second thread that has the line too, for shared lines.
    pub sharer: Option<Sharer>,
}

/// A second thread that has the shared line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharer {
    /// The thread.
    pub thread: usize,
    /// Whether the distance to the asker is the same as the holder's.
    pub as_far: bool,
}

impl Crew {
    /// The threads, in the order of their roles.
    pub fn places(&self) -> Vec<usize> {
        let sharer = self.sharer.map(|sharer| sharer.thread);
        [self.asker, self.holder].into_iter().chain(sharer).collect()
    }

    /// The asker and the holder.
    pub fn pair(&self) -> Vec<usize> {
        vec![self.asker, self.holder]
    }
}

/// At most `most` crews for a distance. They are spread over the machine.
pub fn crews(topology: &Topology, class: usize, most: usize) -> Vec<Crew> {
    let pairs = pairs(topology, class);
    let chosen = pairs.len().min(most);
    let spread = (0..chosen).map(|n| pairs[n * pairs.len() / chosen]);
    spread.map(|(asker, holder)| crew(topology, asker, holder)).collect()
}

/// All pairs of threads that are at this distance from each other.
pub fn pairs(topology: &Topology, class: usize) -> Vec<(usize, usize)> {
    let threads = topology.threads.len();
    let all = (0..threads).flat_map(|a| (a + 1..threads).map(move |b| (a, b)));
    all.filter(|&(a, b)| topology.class(a, b) == class).collect()
}

fn crew(topology: &Topology, asker: usize, holder: usize) -> Crew {
    let class = topology.class(asker, holder);
    let same_core = |a: usize, b: usize| topology.threads[a].core == topology.threads[b].core;
    let others = || (0..topology.threads.len()).filter(|&t| t != asker && t != holder);
    // Threads of one core share caches. So the sharer must not be on the asker's core or the
    // holder's core, unless asker and holder are threads of one core.
    let all_of_one_core = same_core(asker, holder);
    let as_far = others().filter(|&t| topology.class(asker, t) == class);
    let as_far = as_far.filter(|&t| all_of_one_core || !same_core(holder, t));
    let elsewhere = others().filter(|&t| !same_core(asker, t) && !same_core(holder, t));
    // The thread that is nearest to the holder is chosen, so that a write reaches only one part of
    // the machine.
    let sharer = as_far.min_by_key(|&t| topology.class(holder, t));
    let sharer = sharer.map(|thread| Sharer { thread, as_far: true }).or_else(|| {
        // Otherwise the sharer must be nearer than the holder, because it would decide the cost if
        // it were farther. If asker and holder are on one core, any other core will do.
        let nearer = elsewhere.filter(|&t| all_of_one_core || topology.class(asker, t) < class);
        let nearest = nearer.min_by_key(|&t| class.abs_diff(topology.class(asker, t)));
        nearest.map(|thread| Sharer { thread, as_far: false })
    });
    Crew { asker, holder, sharer }
}

/// The numbers of sharers, not counting the asker, for which a line is measured: 2, 4, 8 and so on,
/// and all other threads.
pub fn numbers_of_sharers(topology: &Topology) -> Vec<usize> {
    let others = topology.threads.len().saturating_sub(1);
    let doubled = std::iter::successors(Some(2), |n| Some(2 * n)).take_while(|&n| n < others);
    doubled.chain((others >= 2).then_some(others)).collect()
}

/// A thread and after it all other threads, with the nearest first.
pub fn nearest_first(topology: &Topology, asker: usize) -> Vec<usize> {
    let mut others: Vec<usize> =
        (0..topology.threads.len()).filter(|&thread| thread != asker).collect();
    others.sort_by_key(|&thread| topology.class(asker, thread));
    others.insert(0, asker);
    others
}

#[cfg(test)]
mod tests {
    use syncline_sim::Machine;

    use super::*;
    use crate::topology::simulated;

    fn machine(name: &str) -> Topology {
        simulated::topology(&Machine::named(name).unwrap())
    }

    #[test]
    fn a_sharer_is_as_far_as_the_holder_and_near_to_it() {
        let opteron = machine("opteron");
        let two_hops = opteron.classes.len() - 1;
        for crew in crews(&opteron, two_hops, 3) {
            let sharer = crew.sharer.unwrap();
            assert!(sharer.as_far);
            assert_eq!(opteron.class(crew.asker, sharer.thread), two_hops);
            assert_eq!(opteron.class(crew.holder, sharer.thread), 0, "on the holder's die");
        }
    }

    #[test]
    fn crews_are_spread_over_the_machine() {
        let askers: Vec<usize> =
            crews(&machine("xeon"), 0, 3).iter().map(|crew| crew.asker).collect();
        assert_eq!(askers.len(), 3);
        assert!(askers[2] > 40, "{askers:?}");
    }

    #[test]
    fn in_the_corner_of_a_mesh_the_sharer_is_the_farthest_that_is_not_farther() {
        let tilera = machine("tilera");
        let crew = crews(&tilera, 9, 1)[0];
        assert_eq!(crew.holder, 35);
        let sharer = crew.sharer.unwrap();
        assert!(!sharer.as_far);
        assert_eq!(tilera.class(0, sharer.thread), 8);
    }

    #[test]
    fn threads_of_one_core_share_in_their_core() {
        let crew = crews(&machine("niagara"), 0, 1)[0];
        assert_eq!((crew.asker, crew.holder), (0, 1));
        assert_eq!(crew.sharer, Some(Sharer { thread: 2, as_far: true }));
    }

    #[test]
    fn sharers_are_doubled_until_all_share() {
        assert_eq!(numbers_of_sharers(&machine("opteron")), [2, 4, 8, 16, 32, 47]);
        let first = nearest_first(&machine("opteron"), 6);
        assert_eq!((first.len(), first[0]), (48, 6));
        assert!(first[1..6].iter().all(|thread| (6..12).contains(thread)));
    }
}
