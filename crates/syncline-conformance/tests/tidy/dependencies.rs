//! Dependencies between our crates point one way: preload -> recording <- analysis;
//! everything may use `syncline`, which uses none of ours; nothing depends on the command,
//! the C library, the preload library or the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::{Table, Value};

use crate::crates;

/// Nothing depends on these.
const LAST: [&str; 9] = [
    "syncline-cli",
    "syncline-capi",
    "syncline-preload",
    "syncline-replace",
    "syncline-inspect",
    "syncline-delay",
    "syncline-mpi",
    "syncline-checkers",
    "syncline-conformance",
];

/// These depend on none of ours but those given.
const LIMITED: [(&str, &[&str]); 18] = [
    ("syncline", &[]),
    ("syncline-interpose", &[]),
    ("syncline-recording", &[]),
    ("syncline-preload", &["syncline-interpose", "syncline-recording", "syncline"]),
    ("syncline-analysis", &["syncline-recording", "syncline", "syncline-page"]),
    ("syncline-page", &[]),
    ("syncline-capi", &["syncline"]),
    ("syncline-replace", &["syncline-interpose", "syncline"]),
    ("syncline-delay", &["syncline-interpose"]),
    ("syncline-mpi", &["syncline-interpose", "syncline"]),
    ("syncline-policy", &["syncline-analysis"]),
    ("syncline-inspect", &["syncline-interpose", "syncline-recording", "syncline-trace"]),
    ("syncline-trace", &["syncline-interpose", "syncline-recording"]),
    ("syncline-independence", &["syncline-recording", "syncline-trace"]),
    ("syncline-sim", &["syncline"]),
    ("syncline-study", &["syncline", "syncline-page", "syncline-probe", "syncline-sim"]),
    ("syncline-probe", &["syncline", "syncline-page", "syncline-sim"]),
    ("syncline-checkers", &["syncline"]),
];

/// What is wrong with a graph of crates.
fn faults(graph: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, used) in graph {
        let ours = used.iter().filter(|d| graph.contains_key(*d) || LAST.contains(&d.as_str()));
        let limit = LIMITED.iter().find(|(limited, _)| limited == name);
        for dependency in ours {
            let forbidden =
                limit.is_some_and(|(_, allowed)| !allowed.contains(&dependency.as_str()));
            if forbidden || LAST.contains(&dependency.as_str()) {
                faults.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    faults
}

/// All dependencies of a manifest: normal, of tests, of build scripts, and of one platform.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (key, value) in manifest {
        let Value::Table(table) = value else { continue };
        if key.ends_with("dependencies") {
            names.extend(table.keys().cloned());
        } else if key == "target" {
            let platforms = table.values().filter_map(Value::as_table);
            names.extend(platforms.flat_map(dependencies));
        }
    }
    names
}

#[test]
fn dependencies_point_one_way() {
    let mut graph = BTreeMap::new();
    for folder in crates() {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: Table = text.parse().expect("a manifest");
        let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
        graph.insert(name, dependencies(&manifest));
    }
    let faults = faults(&graph);
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_crate_takes_the_projects_lints() {
    for folder in crates() {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: Table = text.parse().expect("a manifest");
        let lints = manifest.get("lints").and_then(|l| l.get("workspace"));
        assert_eq!(lints.and_then(Value::as_bool), Some(true), "{}", folder.display());
    }
}

#[test]
fn a_wrong_graph_is_found() {
    let edges = |list: &[&str]| list.iter().map(|&d| d.to_owned()).collect::<BTreeSet<_>>();
    let graph = BTreeMap::from([
        ("syncline".to_owned(), edges(&["libc", "syncline-recording"])),
        ("syncline-recording".to_owned(), edges(&["serde"])),
        ("syncline-cli".to_owned(), edges(&["syncline-analysis", "syncline-preload"])),
        ("syncline-analysis".to_owned(), edges(&["syncline-recording"])),
    ]);
    let expected =
        ["syncline depends on syncline-recording", "syncline-cli depends on syncline-preload"];
    assert_eq!(faults(&graph), expected);

    let manifest = "[dev-dependencies]\na = '1'\n[target.'cfg(unix)'.dependencies]\nb = '1'";
    let manifest: Table = manifest.parse().expect("a manifest");
    assert_eq!(dependencies(&manifest), edges(&["a", "b"]));
}
