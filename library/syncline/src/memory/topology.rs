//! The groups of this machine's processors, according to `/sys/devices/system` of Linux.
//!
//! Linux describes each grouping by lists of processors, such as `0-3,8`. A grouping that is
//! incomplete or makes no sense is ignored. So at worst all processors are one group.

use std::fs;
use std::path::{Path, PathBuf};
use std::vec::Vec;

/// The levels: sockets; processors that share a last-level cache; processors that share an L2. A
/// level that Linux does not describe, or that divides nothing, is replaced: sockets by NUMA nodes,
/// the last-level caches by clusters, and L2 caches by cores.
pub(super) const LEVELS: usize = 3;

/// More processors than any Linux supports; protects from lists like `0-4294967295`.
const LIMIT: usize = 1 << 14;

/// Each processor's group at each level, indexed by the processor's number. At each level, groups
/// are numbered from 0, in the order of their first processors. Processors that are offline are in
/// group 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Topology(Vec<[u16; LEVELS]>);

impl Topology {
    /// Reads a tree like that in `/sys/devices/system`.
    pub(super) fn read(system: &Path) -> Self {
        let processors = read_list(&system.join("cpu/online")).unwrap_or_default();
        let machine = Machine { system, processors };

        let all = std::vec![0; machine.processors.len()];
        let mut sockets = machine.divide(&all, SOCKET);
        if sockets == all {
            sockets = machine.divide_by_nodes(&all);
        }
        let mut near = machine.divide_by_cache(&sockets, u32::MAX);
        if near == sockets {
            let clusters = machine.divide(&sockets, CLUSTER);
            // On some machines a cluster is a core, or the processors that share an L2. Such
            // clusters belong to the last level.
            if clusters != machine.divide_by_cache(&sockets, 2)
                && clusters != machine.divide(&sockets, CORE)
            {
                near = clusters;
            }
        }
        let mut nearest = machine.divide_by_cache(&near, 2);
        if nearest == near {
            nearest = machine.divide(&near, CORE);
        }

        let numbers = machine.processors.last().map_or(0, |last| last + 1);
        let mut groups = std::vec![[0; LEVELS]; numbers];
        for (place, &processor) in machine.processors.iter().enumerate() {
            groups[processor] = [sockets[place], near[place], nearest[place]];
        }
        Self(groups)
    }

    /// The group of a processor, or 0 if the processor is not known.
    pub(super) fn group(&self, processor: usize, level: usize) -> usize {
        self.0.get(processor).map_or(0, |groups| groups[level].into())
    }

    /// Whether a level has several groups.
    pub(super) fn is_divided(&self, level: usize) -> bool {
        self.0.iter().any(|groups| groups[level] != 0)
    }
}

const SOCKET: &str = "topology/core_siblings_list";
const CLUSTER: &str = "topology/cluster_cpus_list";
const CORE: &str = "topology/thread_siblings_list";

/// The processors that are online, and the folder that describes them.
struct Machine<'a> {
    system: &'a Path,
    processors: Vec<usize>,
}

impl Machine<'_> {
    /// Divides groups by the list of processors that each processor has in `file`.
    fn divide(&self, groups: &[u16], file: &str) -> Vec<u16> {
        self.divide_by(groups, |processor| read_list(&self.about(processor).join(file)))
    }

    /// Divides groups by the processors that share a cache of this level or, if there is none, a
    /// cache of the largest level below it. First-level caches don't count.
    fn divide_by_cache(&self, groups: &[u16], level: u32) -> Vec<u16> {
        self.divide_by(groups, |processor| {
            let caches = (0..).map_while(|index| {
                let cache = self.about(processor).join(std::format!("cache/index{index}"));
                let text = fs::read_to_string(cache.join("level")).ok()?;
                Some((text.trim().parse().ok()?, cache))
            });
            let (_, cache) = caches.filter(|(at, _)| (2..=level).contains(at)).max()?;
            read_list(&cache.join("shared_cpu_list"))
        })
    }

    fn divide_by_nodes(&self, groups: &[u16]) -> Vec<u16> {
        let nodes = read_list(&self.system.join("node/online")).unwrap_or_default();
        // A node may have memory only.
        let nodes: Vec<_> = nodes
            .iter()
            .filter_map(|node| {
                read_list(&self.system.join(std::format!("node/node{node}/cpulist")))
            })
            .collect();
        self.divide_by(groups, |processor| {
            nodes.iter().find(|node| node.contains(&processor)).cloned()
        })
    }

    /// Divides groups by a partition. `list` returns the members of a processor's part. If the
    /// lists are not a partition, or every processor would be alone, the groups stay as they are.
    fn divide_by(&self, groups: &[u16], list: impl Fn(usize) -> Option<Vec<usize>>) -> Vec<u16> {
        let Some(parts) = self.partition(list) else {
            return groups.into();
        };
        let mut pairs = Vec::new();
        let divided = groups.iter().zip(&parts).map(|pair| {
            let known = pairs.iter().position(|known| *known == pair);
            let number = known.unwrap_or_else(|| {
                pairs.push(pair);
                pairs.len() - 1
            });
            number as u16
        });
        let divided = divided.collect();
        if pairs.len() == groups.len() { groups.into() } else { divided }
    }

    /// The number of each processor's part. `None` if a processor has no list, is not on its own
    /// list, or is on two lists.
    fn partition(&self, list: impl Fn(usize) -> Option<Vec<usize>>) -> Option<Vec<u16>> {
        let mut parts = std::vec![None; self.processors.len()];
        let mut count = 0;
        for (place, &processor) in self.processors.iter().enumerate() {
            if parts[place].is_some() {
                continue;
            }
            for member in list(processor)? {
                // Processors that are offline may be listed too.
                if let Ok(place) = self.processors.binary_search(&member)
                    && parts[place].replace(count).is_some()
                {
                    return None;
                }
            }
            parts[place]?;
            count += 1;
        }
        parts.into_iter().collect()
    }

    fn about(&self, processor: usize) -> PathBuf {
        self.system.join(std::format!("cpu/cpu{processor}"))
    }
}

fn read_list(file: &Path) -> Option<Vec<usize>> {
    parse_list(&fs::read_to_string(file).ok()?)
}

/// The numbers of a list such as `0-3,8`. `None` if the text is empty or not a list, or if its
/// numbers don't ascend or are too large.
fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= LIMIT || numbers.last().is_some_and(|&number| first <= number) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use std::string::String;

    use super::*;

    /// A tree of files under a folder of its own.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(online: &str) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            tree.put("cpu/online", online)
        }

        fn put(self, file: &str, text: &str) -> Self {
            let path = self.0.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, std::format!("{text}\n")).unwrap();
            self
        }

        /// Makes the processors of each list share what `file` describes.
        fn share(mut self, file: &str, lists: &[&str]) -> Self {
            for list in lists {
                for processor in parse_list(list).unwrap() {
                    self = self.put(&std::format!("cpu/cpu{processor}/{file}"), list);
                }
            }
            self
        }

        fn cache(mut self, index: usize, level: &str, lists: &[&str]) -> Self {
            for processor in lists.iter().flat_map(|list| parse_list(list).unwrap()) {
                let file = std::format!("cpu/cpu{processor}/cache/index{index}/level");
                self = self.put(&file, level);
            }
            self.share(&std::format!("cache/index{index}/shared_cpu_list"), lists)
        }

        fn sockets(self, lists: &[&str]) -> Self {
            self.share("topology/core_siblings_list", lists)
        }

        fn cores(self, lists: &[&str]) -> Self {
            self.share("topology/thread_siblings_list", lists)
        }

        fn clusters(self, lists: &[&str]) -> Self {
            self.share("topology/cluster_cpus_list", lists)
        }

        /// The groups of all processors at each level, one digit each.
        fn groups(&self) -> [String; LEVELS] {
            let Topology(groups) = Topology::read(self.0.path());
            core::array::from_fn(|level| {
                groups.iter().map(|groups| std::format!("{}", groups[level])).collect()
            })
        }
    }

    #[test]
    fn lists() {
        assert_eq!(parse_list("0-3,8\n"), Some(std::vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list("5"), Some(std::vec![5]));
        for text in
            ["", "\n", "a", "3-", "-1", "3-1", "1,,2", "2,1", "0-4294967295", "0,0", "1-2-3"]
        {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }

    #[test]
    fn two_sockets_with_hyperthreads() {
        let tree = Tree::new("0-7")
            .sockets(&["0-1,4-5", "2-3,6-7"])
            .cores(&["0,4", "1,5", "2,6", "3,7"])
            .clusters(&["0,4", "1,5", "2,6", "3,7"])
            .cache(0, "1", &["0,4", "1,5", "2,6", "3,7"])
            .cache(1, "2", &["0,4", "1,5", "2,6", "3,7"])
            .cache(2, "3", &["0-1,4-5", "2-3,6-7"]);
        assert_eq!(tree.groups(), ["00110011", "00110011", "01230123"]);
    }

    #[test]
    fn a_socket_of_several_last_level_caches() {
        let tree = Tree::new("0-7")
            .sockets(&["0-7"])
            .cores(&["0", "1", "2", "3", "4", "5", "6", "7"])
            .cache(0, "2", &["0", "1", "2", "3", "4", "5", "6", "7"])
            .cache(1, "3", &["0-3", "4-7"]);
        assert_eq!(tree.groups(), ["00000000", "00001111", "00001111"]);
    }

    #[test]
    fn two_sockets_with_clusters() {
        let tree = Tree::new("0-7")
            .sockets(&["0-3", "4-7"])
            .clusters(&["0-1", "2-3", "4-5", "6-7"])
            .cores(&["0", "1", "2", "3", "4", "5", "6", "7"])
            .cache(0, "2", &["0", "1", "2", "3", "4", "5", "6", "7"])
            .cache(1, "3", &["0-3", "4-7"]);
        assert_eq!(tree.groups(), ["00001111", "00112233", "00112233"]);
    }

    #[test]
    fn nodes_divide_a_single_socket() {
        let tree = Tree::new("0-3")
            .sockets(&["0-3"])
            .put("node/online", "0,2")
            .put("node/node0/cpulist", "0,2")
            .put("node/node2/cpulist", "1,3");
        assert_eq!(tree.groups(), ["0101", "0101", "0101"]);
    }

    #[test]
    fn a_node_without_processors() {
        let tree = Tree::new("0-3")
            .put("node/online", "0-2")
            .put("node/node0/cpulist", "0-1")
            .put("node/node1/cpulist", "2-3")
            .put("node/node2/cpulist", "");
        assert_eq!(tree.groups(), ["0011", "0011", "0011"]);
    }

    #[test]
    fn holes_and_offline_processors() {
        // 2 and 5 are offline; sockets still list them.
        let tree = Tree::new("0-1,3-4,6-7").sockets(&["0-3", "4-7"]);
        assert_eq!(tree.groups(), ["00001011", "00001011", "00001011"]);
    }

    #[test]
    fn processors_alone_are_not_groups() {
        let alone = ["0", "1", "2", "3"];
        let tree = Tree::new("0-3").sockets(&alone).cores(&alone).cache(0, "2", &alone);
        assert_eq!(tree.groups(), ["0000", "0000", "0000"]);
        let one = Tree::new("0").sockets(&["0"]);
        assert_eq!(one.groups(), ["0", "0", "0"]);
    }

    #[test]
    fn nonsense_divides_nothing() {
        let sockets = || Tree::new("0-3").sockets(&["0-1", "2-3"]);
        assert_eq!(sockets().groups()[0], "0011");
        for text in ["", "garbage", "2", "1-9999999", "0-2"] {
            let tree = sockets().put("cpu/cpu0/topology/core_siblings_list", text);
            assert_eq!(tree.groups(), ["0000", "0000", "0000"], "{text}");
        }
        for text in ["", "garbage", "0-", "99999"] {
            assert_eq!(sockets().put("cpu/online", text).groups(), ["", "", ""], "{text}");
        }
        assert_eq!(Topology::read(Path::new("/nonexistent")), Topology(Vec::new()));
        assert_eq!(Topology(Vec::new()).group(7, 2), 0);
    }

    #[test]
    fn nonsense_at_one_level_leaves_the_others() {
        let tree = Tree::new("0-7")
            .sockets(&["0-3", "4-7"])
            .cores(&["0-1", "2-3", "4-5", "6-7"])
            .cache(0, "a few", &["0-7"]);
        assert_eq!(tree.groups(), ["00001111", "00001111", "00112233"]);
    }

    #[test]
    fn this_machine() {
        Topology::read(Path::new("/sys/devices/system"));
    }
}
