//! Tables 2 and 3: the cost of an access to a line, by the line's state and distance. The probe
//! (`syncline_probe`) measures it on the simulated machine. The probe has no case for two numbers
//! of section 5.2; for each of these, a simulated thread makes a single access.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use syncline::memory::{Memory, Padded, Word};
use syncline_probe::bench::SimulatedBench;
use syncline_probe::case::{ACCESSES, STATES, access_name, state_name};
use syncline_probe::{Effort, Measurement, measure};
use syncline_sim::engine::{self, Engine};
use syncline_sim::machine::{Access, Description, Protocol, State};
use syncline_sim::{Machine, Simulated};

use super::plan::Plan;
use super::sentence::{list, number};
use crate::figure::{Kind, Panel, Point, Series};
use crate::target::Target;

/// The plan of table 2, remote accesses.
pub const REMOTE: Plan = Plan {
    id: "table-2",
    title: "Latency of an access, by the line's state and distance",
    x: "column",
    y: "latency (cycles)",
    kind: Kind::Table,
    measure: |_, target| on_simulated(target, remote),
    says: says_remote,
};

/// The plan of table 3, local accesses.
pub const LOCAL: Plan = Plan {
    id: "table-3",
    title: "Latency of a load from each level of the caches, and from memory",
    measure: |_, target| on_simulated(target, local),
    says: says_local,
    ..REMOTE
};

/// The row for a store to a line that all cores share (section 5.2).
pub const BY_ALL: &str = "store, shared by all";
/// The row for a load from another node through a directory that is far from both nodes (section
/// 5.2).
pub const FAR_DIRECTORY: &str = "load, directory two hops away";

fn on_simulated(target: &Target, measure: fn(&Machine) -> Option<Panel>) -> Option<Panel> {
    match target {
        Target::Native(_) => None,
        Target::Simulated(machine) => measure(machine),
    }
}

/// Cycles of an access by the hardware thread `by` to a line in the state `state`. The caches
/// `holders` hold the line, and the node `home` is its home.
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
        // Relaxed: only one thread accesses the word.
        match access {
            Access::Load => drop(word.load(Relaxed)),
            Access::Store => word.store(1, Relaxed),
            Access::CompareAndSwap => drop(word.exchange(0, 1, Relaxed)),
            Access::FetchAndIncrement => drop(word.fetch_add(1, Relaxed)),
            Access::TestAndSet => drop(word.fetch_or(1, Relaxed)),
            Access::Swap => drop(word.swap(1, Relaxed)),
        }
        // The fence waits until a store has taken effect.
        engine::fence();
        took.set(engine::now() - began);
    });
    engine.run(vec![(by, body)]);
    took.get() as f64
}

/// The probe's measurement of a simulated machine; `None` if the machine never caches lines. The
/// same code also measures real machines, so only accesses bring lines into the state of a case.
/// The measurement is kept, since both tables use it and a second measurement would be equal.
fn probed(machine: &Machine) -> Option<Arc<Measurement>> {
    static FOUND: Mutex<Vec<(Description, Arc<Measurement>)>> = Mutex::new(Vec::new());
    if machine.is_uncached() {
        return None;
    }
    let mut kept = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = kept.iter().find(|(of, _)| *of == machine.description) {
        return Some(Arc::clone(found));
    }
    let bench = SimulatedBench::new(machine, 1);
    let found = measure(&bench, &Effort::SIMULATED, &mut |_| ());
    let found = Arc::new(found.expect("simulated threads can be had"));
    kept.push((machine.description.clone(), Arc::clone(&found)));
    Some(found)
}

fn remote(machine: &Machine) -> Option<Panel> {
    let found = probed(machine)?;
    let mut series = Vec::new();
    for access in ACCESSES {
        for state in STATES {
            let missing = (state == State::Owned && !machine.has_owned())
                || (state == State::Invalid && access != Access::Load);
            let columns = machine.description.columns.iter().enumerate();
            let points = columns.filter_map(|(x, label)| {
                let at = found.distances.iter().position(|distance| distance.name == *label)?;
                let y = found.cell(access, state, at)?.median;
                Some(Point { x: x as f64, label: label.clone(), y, note: String::new() })
            });
            let points: Vec<Point> = points.collect();
            if !missing && !points.is_empty() {
                let name = format!("{}, {}", access_name(access), state_name(state));
                series.push(Series { name, points });
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
    Some(Panel { machine: machine.description.name.clone(), series })
}

/// A hardware thread and a cache, on two different nodes that are both at the greatest distance
/// from node 0. `None` on machines without a directory, since there a line's home does not matter,
/// and on machines with fewer than two such nodes.
fn far_from_first(machine: &Machine) -> Option<(usize, usize)> {
    let d = &machine.description;
    let farthest = d.distances[0].iter().copied().fold(0.0, f64::max);
    let mut there = (1..d.nodes).filter(|&node| d.distances[0][node] == farthest);
    let (asks, holds) = (there.next()?, there.next()?);
    let first_cache = |node| node * d.caches_per_node;
    let directory = d.protocol == Protocol::Directory;
    directory.then(|| (first_cache(asks) * d.threads_per_cache, first_cache(holds)))
}

fn local(machine: &Machine) -> Option<Panel> {
    let found = probed(machine)?;
    let found = &found.local;
    let own = found.own.iter().find(|own| own.access == Access::Load);
    let levels = [
        ("L1", own.map(|own| own.cycles.median)),
        ("L2", found.l2.map(|cycles| cycles.median)),
        ("LLC", found.llc.map(|cycles| cycles.median)),
        ("RAM", Some(found.memory.median)),
    ];
    let series = levels.into_iter().filter_map(|(name, cycles)| {
        Some(Series { name: name.to_owned(), points: vec![Point::at(0, cycles?)] })
    });
    Some(Panel { machine: machine.description.name.clone(), series: series.collect() })
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
