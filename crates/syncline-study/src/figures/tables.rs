//! Tables 2 and 3: what an access to a line costs, by its state and distance, as a thread of the
//! simulated machine sees it.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

use syncline::memory::{Memory, Padded, Word};
use syncline_sim::engine::{self, Engine};
use syncline_sim::machine::{Access, Protocol, State};
use syncline_sim::{Machine, Simulated};

use super::Plan;
use super::words::{list, number};
use crate::figure::{Kind, Panel, Point, Series};
use crate::target::Target;

/// Remote accesses.
pub const REMOTE: Plan = Plan {
    id: "table-2",
    title: "Latency of an access, by the line's state and distance",
    x: "column",
    y: "latency (cycles)",
    kind: Kind::Table,
    measure: |_, target| on_simulated(target, remote),
    says: says_remote,
};

/// Local accesses.
pub const LOCAL: Plan = Plan {
    id: "table-3",
    title: "Latency of a load from the own cache, and from memory",
    measure: |_, target| on_simulated(target, local),
    says: says_local,
    ..REMOTE
};

/// Operations by the names of the tables' rows.
pub const ACCESSES: [(&str, Access); 6] = [
    ("load", Access::Load),
    ("store", Access::Store),
    ("cas", Access::CompareAndSwap),
    ("fai", Access::FetchAndIncrement),
    ("tas", Access::TestAndSet),
    ("swap", Access::Swap),
];
const STATES: [(&str, State); 5] = [
    ("modified", State::Modified),
    ("owned", State::Owned),
    ("exclusive", State::Exclusive),
    ("shared", State::Shared),
    ("invalid", State::Invalid),
];
/// The row of a store on a line that all cores share, which section 5.2 has.
pub const BY_ALL: &str = "store, shared by all";
/// The row of a load from another node over a directory that is far from both, which section 5.2 has.
pub const FAR_DIRECTORY: &str = "load, directory two hops away";

fn on_simulated(target: &Target, measure: fn(&Machine) -> Panel) -> Option<Panel> {
    match target {
        Target::Native(_) => None,
        Target::Simulated(machine) => Some(measure(machine)),
    }
}

/// Cycles of an access by a hardware thread to a line in a state, with these caches as its
/// holders, and a node as its home.
fn cycles(
    machine: &Machine,
    access: Access,
    (state, holders): (State, &[usize]),
    by: usize,
    home: usize,
) -> f64 {
    let word = Padded::<<Simulated as Memory>::Word>::default();
    let address = std::ptr::from_ref(&word).addr();
    let mut engine = Engine::new(machine, 1);
    engine.home(address..address + 1, home);
    engine.prepare(address, state, holders);
    let took = Cell::new(0);
    let body: engine::Body<'_> = Box::new(|| {
        let began = engine::now();
        // Relaxed: one thread, one word.
        match access {
            Access::Load => drop(word.load(Relaxed)),
            Access::Store => word.store(1, Relaxed),
            Access::CompareAndSwap => drop(word.exchange(0, 1, Relaxed)),
            Access::FetchAndIncrement => drop(word.fetch_add(1, Relaxed)),
            Access::TestAndSet => drop(word.fetch_or(1, Relaxed)),
            Access::Swap => drop(word.swap(1, Relaxed)),
        }
        took.set(engine::now() - began);
    });
    engine.run(vec![(by, body)]);
    took.get() as f64
}

/// Who asks, and the two caches that have the line, for a column of the table.
fn crew(machine: &Machine, distance: f64) -> Option<(usize, [usize; 2])> {
    let from_first = &machine.description.distances[0];
    let mut there = (1..machine.caches()).filter(|&c| from_first[machine.node_of(c)] == distance);
    match (there.next(), machine.description.threads_per_cache) {
        (Some(first), _) => Some((0, [first, there.next().unwrap_or(first)])),
        // Another thread of the same core.
        (None, 2..) if distance == 0.0 => Some((1, [0, 0])),
        _ => None,
    }
}

fn remote(machine: &Machine) -> Panel {
    let d = &machine.description;
    let mut series = Vec::new();
    for (operation, access) in ACCESSES {
        for (name, state) in STATES {
            let missing = (state == State::Owned && !machine.has_owned())
                || (state == State::Invalid && access != Access::Load);
            let columns = d.columns.iter().zip(&d.columns_at).enumerate();
            let points = columns.filter_map(|(x, (label, &distance))| {
                let (by, holders) = crew(machine, distance)?;
                let held = match state {
                    State::Invalid => &[][..],
                    State::Owned | State::Shared => &holders,
                    State::Modified | State::Exclusive => &holders[..1],
                };
                let y = cycles(machine, access, (state, held), by, machine.node_of(holders[0]));
                Some(Point { x: x as f64, label: label.clone(), y, note: String::new() })
            });
            if !missing {
                series.push(Series {
                    name: format!("{operation}, {name}"),
                    points: points.collect(),
                });
            }
        }
    }
    let all: Vec<usize> = (0..machine.caches()).collect();
    let by_all = cycles(machine, Access::Store, (State::Shared, &all), 0, 0);
    let single = |name: &str, y| Series { name: name.to_owned(), points: vec![Point::at(0, y)] };
    series.push(single(BY_ALL, by_all));
    if let Some((by, holder)) = far_from_first(machine) {
        let far = cycles(machine, Access::Load, (State::Modified, &[holder]), by, 0);
        series.push(single(FAR_DIRECTORY, far));
    }
    Panel { machine: d.name.clone(), series }
}

/// A hardware thread and a cache on two nodes, each as far from node 0 as any, where a directory
/// makes that count.
fn far_from_first(machine: &Machine) -> Option<(usize, usize)> {
    let d = &machine.description;
    let farthest = d.distances[0].iter().copied().fold(0.0, f64::max);
    let mut there = (1..d.nodes).filter(|&node| d.distances[0][node] == farthest);
    let (asks, holds) = (there.next()?, there.next()?);
    let first_cache = |node| node * d.caches_per_node;
    let directory = d.protocol == Protocol::Directory;
    directory.then(|| (first_cache(asks) * d.threads_per_cache, first_cache(holds)))
}

fn local(machine: &Machine) -> Panel {
    let own = cycles(machine, Access::Load, (State::Modified, &[0]), 0, 0);
    let memory = cycles(machine, Access::Load, (State::Invalid, &[]), 0, 0);
    let series = [("L1", own), ("RAM", memory)];
    let series =
        series.map(|(name, y)| Series { name: name.into(), points: vec![Point::at(0, y)] });
    Panel { machine: machine.description.name.clone(), series: series.into() }
}

fn says_remote(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let loads = &panel.series("load, modified")?.points;
        let (near, far) = (loads.first()?, loads.last()?);
        Some(format!(
            "a load of a changed line on {} costs {} cycles from the nearest and {} from the \
             farthest place, {} times as much",
            panel.machine,
            number(near.y),
            number(far.y),
            number(far.y / near.y)
        ))
    };
    list(panels.iter().filter_map(machine))
}

fn says_local(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let (own, memory) = (panel.value("L1", 0)?, panel.value("RAM", 0)?);
        let (own, memory) = (number(own), number(memory));
        Some(format!(
            "{} loads from its own cache in {own} cycles, from memory in {memory}",
            panel.machine
        ))
    };
    list(panels.iter().filter_map(machine))
}
