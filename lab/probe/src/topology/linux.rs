//! The topology without hwloc. It comes from Linux's lists of processors, and has the groups that
//! the library's hierarchical locks use. The lists don't distinguish threads of one core from
//! threads that share only a second-level cache.

use std::thread;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use syncline::memory::{Memory, Native};

use super::{HardwareThread, Source, Topology};
use crate::error::Error;

/// The processors that this process may use, in ascending order.
pub fn usable() -> Result<Vec<usize>, Error> {
    let set = sched_getaffinity(Pid::from_raw(0))
        .map_err(|error| Error::Affinity { source: error.into() })?;
    Ok((0..CpuSet::count()).filter(|&n| set.is_set(n) == Ok(true)).collect())
}

/// Pins the calling thread to a processor.
pub fn pin(processor: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    let pinned = set.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(|error| Error::Pin { processor, source: error.into() })
}

/// The topology of these processors. `why` says why hwloc could not be used.
pub fn topology(usable: &[usize], why: String) -> Result<Topology, Error> {
    let look = || {
        let places = usable.iter().map(|&processor| {
            pin(processor)?;
            Ok((processor, [0, 1, 2].map(Native::group)))
        });
        places.collect::<Result<Vec<_>, Error>>()
    };
    // This runs in a separate thread, because it changes the thread's affinity.
    let looked = thread::scope(|scope| scope.spawn(look).join());
    let groups = looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(Topology { source: Source::Linux { why }, ..of_groups(&groups) })
}

/// The topology of processors. Each has the numbers of its socket, its last-level cache and its
/// second-level cache.
fn of_groups(groups: &[(usize, [usize; 3])]) -> Topology {
    // If all processors have the same number, perhaps nothing is known.
    let divided = |level: usize| groups.iter().any(|(_, of)| of[level] != groups[0].1[level]);
    let (has_llc, has_l2) = (divided(1) || divided(2), divided(2));
    let places = groups.iter().map(|&(processor, [package, llc, l2])| HardwareThread {
        processor,
        core: processor,
        l2: has_l2.then_some(l2),
        llc: has_llc.then_some(llc),
        node: package,
        package,
    });
    Topology::of_threads(places.collect(), |_, _| 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(groups: &[[usize; 3]]) -> Vec<String> {
        let numbered: Vec<_> = groups.iter().copied().enumerate().collect();
        of_groups(&numbered).classes.into_iter().map(|class| class.name).collect()
    }

    #[test]
    fn groups_become_distances() {
        // Two sockets, each with two last-level caches; two processors share each second-level
        // cache.
        let groups: Vec<_> = (0..16).map(|n| [n / 8, n / 4, n / 2]).collect();
        let expected = ["same L2", "same last-level cache", "same NUMA node", "other package"];
        assert_eq!(classes(&groups), expected);
    }

    #[test]
    fn the_last_level_cache_is_the_highest_shared() {
        assert_eq!(classes(&[[0, 0, 0], [0, 0, 1]]), ["same last-level cache"]);
    }

    #[test]
    fn groups_without_information_are_one_numa_node() {
        assert_eq!(classes(&[[0, 0, 0], [0, 0, 0]]), ["same NUMA node"]);
    }

    #[test]
    fn this_process_may_use_a_processor() {
        let usable = usable().unwrap();
        assert!(!usable.is_empty());
        let topology = topology(&usable, String::new()).unwrap();
        assert_eq!(topology.threads.len(), usable.len());
    }
}
