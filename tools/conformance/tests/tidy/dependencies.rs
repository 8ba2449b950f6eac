//! Dependencies between our crates point one way: recorder -> recording <- analysis <- report.
//! `syncline` uses no other crate of ours, and nothing depends on the crates of [`LAST`], such as
//! the command, the C library, the preloaded libraries and the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::crates;

/// The crates on which nothing may depend.
const LAST: [&str; 11] = [
    "syncline-cli",
    "syncline-capi",
    "syncline-recorder",
    "syncline-replace",
    "syncline-tracer",
    "syncline-delay",
    "syncline-mpi",
    "syncline-kernel-init",
    "syncline-kernel-plugin",
    "syncline-checkers",
    "syncline-conformance",
];

/// Crates, each with the only crates of ours on which it may depend.
const LIMITED: [(&str, &[&str]); 28] = [
    ("syncline", &[]),
    ("syncline-interpose", &[]),
    ("syncline-present", &[]),
    ("syncline-statistics", &[]),
    ("syncline-recording", &["syncline-interpose"]),
    ("syncline-sampler", &["syncline-recording"]),
    ("syncline-recorder", &["syncline-interpose", "syncline-recording", "syncline"]),
    ("syncline-trace", &["syncline-interpose", "syncline-recording"]),
    ("syncline-tracer", &["syncline-interpose", "syncline-recording", "syncline-trace"]),
    ("syncline-conflicts", &["syncline-recording", "syncline-trace"]),
    ("syncline-code", &["syncline-recording"]),
    (
        "syncline-analysis",
        &["syncline-code", "syncline-present", "syncline-recording", "syncline-statistics"],
    ),
    (
        "syncline-report",
        &["syncline-analysis", "syncline-code", "syncline-present", "syncline-recording"],
    ),
    ("syncline-policy", &["syncline-code"]),
    ("syncline-try", &["syncline-statistics"]),
    (
        "syncline-targets",
        &[
            "syncline",
            "syncline-analysis",
            "syncline-policy",
            "syncline-recording",
            "syncline-statistics",
            "syncline-try",
        ],
    ),
    (
        "syncline-experiments",
        &[
            "syncline-analysis",
            "syncline-policy",
            "syncline-present",
            "syncline-statistics",
            "syncline-targets",
            "syncline-try",
        ],
    ),
    ("syncline-replace", &["syncline-interpose", "syncline"]),
    ("syncline-delay", &["syncline-interpose"]),
    ("syncline-fabric", &["syncline"]),
    ("syncline-dht", &["syncline", "syncline-fabric"]),
    ("syncline-mpi", &["syncline-interpose", "syncline", "syncline-fabric"]),
    ("syncline-dsm", &["syncline", "syncline-fabric"]),
    ("syncline-capi", &["syncline"]),
    ("syncline-checkers", &["syncline"]),
    ("syncline-sim", &["syncline"]),
    ("syncline-probe", &["syncline", "syncline-present", "syncline-sim", "syncline-statistics"]),
    (
        "syncline-study",
        &[
            "syncline",
            "syncline-dsm",
            "syncline-fabric",
            "syncline-present",
            "syncline-probe",
            "syncline-sim",
            "syncline-statistics",
        ],
    ),
];

/// The rooms, which are the top-level folders of crates. A crate may use crates of its own room and
/// of the rooms that are listed with it.
const ROOMS: [(&str, &[&str]); 8] = [
    ("base", &[]),
    ("library", &[]),
    ("profile", &["base", "library"]),
    ("cluster", &["base", "library"]),
    ("kernel", &["base", "library", "profile"]),
    ("experiment", &["base", "library", "profile"]),
    ("lab", &["base", "library", "profile", "cluster"]),
    ("tools", &["base", "library", "profile", "cluster", "kernel", "experiment", "lab"]),
];

/// The crates that use a crate of a room which is not listed with their own room in [`ROOMS`].
/// `rooms` has the room of each crate.
fn upward(
    graph: &BTreeMap<String, BTreeSet<String>>,
    rooms: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, used) in graph {
        let room = &rooms[name];
        let known = ROOMS.iter().find(|(known, _)| known == room);
        let Some((_, below)) = known else {
            faults.push(format!("{name} stands in {room}, which is no room"));
            continue;
        };
        for other in used.iter().filter_map(|used| rooms.get(used)) {
            if other != room && !below.contains(&other.as_str()) {
                faults.push(format!("{name} in {room} uses a crate in {other}"));
            }
        }
    }
    faults
}

/// The dependencies of a graph of crates that [`LAST`] or [`LIMITED`] forbid.
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

/// All dependencies of a manifest: normal ones, and those for tests, for build scripts and for
/// single platforms.
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
    let mut rooms = BTreeMap::new();
    for folder in crates() {
        let room = folder.parent().and_then(Path::file_name).expect("a room").to_string_lossy();
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: Table = text.parse().expect("a manifest");
        let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
        rooms.insert(name.clone(), room.into_owned());
        graph.insert(name, dependencies(&manifest));
    }
    let mut faults = faults(&graph);
    faults.extend(upward(&graph, &rooms));
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
        ("syncline-cli".to_owned(), edges(&["syncline-analysis", "syncline-recorder"])),
        ("syncline-analysis".to_owned(), edges(&["syncline-recording"])),
    ]);
    let expected =
        ["syncline depends on syncline-recording", "syncline-cli depends on syncline-recorder"];
    assert_eq!(faults(&graph), expected);

    let room = |name: &str, room: &str| (name.to_owned(), room.to_owned());
    let rooms = BTreeMap::from([
        room("syncline", "library"),
        room("syncline-recording", "profile"),
        room("syncline-cli", "tools"),
        room("syncline-analysis", "attic"),
        room("syncline-recorder", "profile"),
    ]);
    let expected = [
        "syncline in library uses a crate in profile",
        "syncline-analysis stands in attic, which is no room",
        "syncline-cli in tools uses a crate in attic",
    ];
    assert_eq!(upward(&graph, &rooms), expected);

    let manifest = "[dev-dependencies]\na = '1'\n[target.'cfg(unix)'.dependencies]\nb = '1'";
    let manifest: Table = manifest.parse().expect("a manifest");
    assert_eq!(dependencies(&manifest), edges(&["a", "b"]));
}
