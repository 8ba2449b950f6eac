//! Tests with `two-packages.xml`. hwloc 2.9 has written it for its synthetic topology `pack:2
//! group:2 [numa] l3:1(size=32MB) l2:2(size=2MB) l1:1(size=48KB) core:1 pu:2`. The distances, 12
//! within a package and 32 between packages, were added by `hwloc_distances_add_values`.

use super::*;

const TWO_PACKAGES: &str = include_str!("two-packages.xml");

fn names(topology: &Topology) -> Vec<&str> {
    topology.classes.iter().map(|class| &*class.name).collect()
}

#[test]
fn distances_come_from_packages_and_numa_nodes() {
    let all: Vec<usize> = (0..16).collect();
    let topology = topology(TWO_PACKAGES, &all).unwrap();
    let expected =
        ["same core", "same last-level cache", "same package, NUMA 12", "other package, NUMA 32"];
    assert_eq!(names(&topology), expected);
    let from_first = [1, 2, 3, 4, 7, 8, 15].map(|other| topology.class(0, other));
    assert_eq!(from_first, [0, 1, 1, 2, 2, 3, 3]);
    // hwloc reads KB and MB as powers of ten.
    let caches = Caches { l1: 48_000, l2: 2_000_000, llc: 32_000_000 };
    assert_eq!(topology.caches, caches);
    let nodes: Vec<usize> = topology.threads.iter().map(|place| place.node).collect();
    assert_eq!(nodes, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
}

#[test]
fn only_usable_processors_count() {
    let topology = topology(TWO_PACKAGES, &[2, 9, 12]).unwrap();
    assert_eq!(names(&topology), ["same package, NUMA 12", "other package, NUMA 32"]);
    let processors: Vec<usize> = topology.threads.iter().map(|place| place.processor).collect();
    assert_eq!(processors, [2, 9, 12]);
}

#[test]
fn xml_without_the_usable_processors_is_refused() {
    assert!(topology(TWO_PACKAGES, &[0, 16]).is_none());
    assert!(topology(TWO_PACKAGES, &[]).is_none());
    assert!(topology("<topology>", &[0]).is_none());
    assert!(topology("<topology/>", &[0]).is_none());
}

#[test]
fn sets_are_read_from_the_highest_word_on() {
    let on = |text| {
        let set = set(text).unwrap();
        (0..set.len()).filter(|&n| set[n]).collect::<Vec<_>>()
    };
    assert_eq!(on("0x00000005"), [0, 2]);
    assert_eq!(on("0x00000001,0x80000000"), [31, 32]);
    assert_eq!(on("0x00000001,,0x00000001"), [0, 64]);
    assert_eq!(set("0xg"), None);
}

#[test]
fn memory_of_a_part_is_nearer_than_that_of_the_whole() {
    let text = r#"<topology version="2.0"><object type="Machine">
        <object type="NUMANode" os_index="0" cpuset="0x00000003"/>
        <object type="Core"><object type="NUMANode" os_index="1" cpuset="0x00000002"/>
            <object type="PU" os_index="1"/></object>
        <object type="Core"><object type="PU" os_index="0"/></object>
        </object></topology>"#;
    let topology = topology(text, &[0, 1]).unwrap();
    assert_eq!([topology.threads[0].node, topology.threads[1].node], [0, 1]);
}

#[test]
fn hwloc_describes_this_machine_if_installed() {
    let usable = crate::topology::linux::usable().unwrap();
    if let Ok(text) = crate::topology::hwloc::export() {
        let topology = topology(&text, &usable).expect("hwloc knows the processors of its process");
        assert_eq!(topology.threads.len(), usable.len());
        assert_eq!(topology.source, Source::Hwloc);
    }
}
