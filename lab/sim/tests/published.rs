//! Today's machines, whose descriptions are built from published figures. Two simulated threads run
//! the published ping-pong test, which must take as long as published. The figures are repeated
//! here, so that the test fails if a description deviates from its source.

use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Memory, Padded, Word};
use syncline_sim::engine::{Body, Engine};
use syncline_sim::{Machine, Simulated};

/// For each distance between two cores, the least and the most nanoseconds of one way. Both are the
/// published median over pairs of cores, or they are the ends of the range if a range was
/// published.
type Published = [(&'static str, f64, f64)];

const MACHINES: [(&str, &Published); 5] = [
    ("ice-lake", &[("same socket", 51.2, 51.2), ("other socket", 107.8, 107.8)]),
    ("sapphire-rapids", &[("same socket", 55.3, 55.3), ("other socket", 138.6, 138.6)]),
    (
        "zen4",
        &[
            ("same complex", 26.5, 26.5),
            ("same socket", 103.4, 103.4),
            ("other socket", 197.6, 197.6),
        ],
    ),
    ("zen5", &[("same complex", 23.3, 23.3), ("other complex", 79.5, 79.5)]),
    ("graviton4", &[("same socket", 30.0, 60.0), ("other socket", 138.6, 138.6)]),
];

const ROUND_TRIPS: u32 = 500;

/// Nanoseconds from one hardware thread to another: half of a round trip, in which each thread
/// changes the word after the other one has changed it.
fn one_way(machine: &Machine, other: usize) -> f64 {
    let word = Padded::<<Simulated as Memory>::Word>::default();
    let player = |from: u32, to: u32| -> Body<'_> {
        let word = &word;
        Box::new(move || {
            for _ in 0..ROUND_TRIPS {
                while word.exchange(from, to, Relaxed).is_err() {}
            }
        })
    };
    let cycles = Engine::new(machine, 1).run(vec![(0, player(0, 1)), (other, player(1, 0))]).cycles;
    cycles as f64 / f64::from(2 * ROUND_TRIPS) / machine.description.hertz * 1e9
}

#[test]
fn ping_pong_matches_published_latencies() {
    for (name, published) in MACHINES {
        let machine = Machine::named(name).unwrap();
        let d = &machine.description;
        assert_eq!(d.columns.len(), published.len(), "{name}");
        for (column, &(distance, least, most)) in published.iter().enumerate() {
            assert_eq!(d.columns[column], distance, "{name}");
            let node = d.distances[0].iter().position(|&at| at == d.columns_at[column]).unwrap();
            let other = if node == 0 { 1 } else { node * d.caches_per_node };
            let found = one_way(&machine, other);
            assert!(
                (least * 0.9..=most * 1.1).contains(&found),
                "{name}, {distance}: {found} ns, published {least} to {most}"
            );
        }
    }
}

/// Each field that a description marks as assumed exists, and the published costs of
/// compare-and-swap are not marked.
#[test]
fn assumed_fields_are_marked() {
    for (name, _) in MACHINES {
        let d = Machine::named(name).unwrap().description;
        assert!(d.source.starts_with("built from published figures, not measured by us"), "{name}");
        let json = serde_json::to_value(&d).unwrap();
        for field in &d.assumed {
            let path = format!("/{}", field.replace('.', "/"));
            assert!(json.pointer(&path).is_some(), "{name}: there is no {field}");
        }
        let marked = |field: &str| d.assumed.iter().any(|assumed| assumed == field);
        assert!(!marked("cas") && !marked("cas.modified"), "{name}");
        let rows = ["load", "store", "cas.exclusive", "cas.shared", "fai", "tas", "swap"];
        assert!(rows.into_iter().all(marked), "{name}: {:?}", d.assumed);
    }
    let measured = ["opteron", "xeon"].map(|name| Machine::named(name).unwrap().description);
    assert!(measured.iter().all(|d| d.assumed.is_empty()));
}

/// The groups of near processors for hierarchical locks are sockets at level 0, and complexes
/// below.
#[test]
fn complexes_of_a_socket_are_one_group() {
    let zen = Machine::named("zen4").unwrap();
    assert_eq!([0, 7, 8, 15].map(|node| zen.group(node, 0)), [0, 0, 1, 1]);
    assert_eq!([0, 7, 8, 15].map(|node| zen.group(node, 1)), [0, 7, 8, 15]);
    let xeon = Machine::named("xeon").unwrap();
    assert_eq!([0, 7].map(|node| xeon.group(node, 0)), [0, 7], "each node is a socket");
}
