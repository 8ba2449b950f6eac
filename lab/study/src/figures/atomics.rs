//! Figure 4: atomic operations on one word.

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::{load, over_threads};
use crate::figure::{Kind, Panel};
use crate::lab::Lab;
use crate::on;
use crate::stress::Load;
use crate::stress::atomics::{self, Operation};
use crate::world::World;

/// The plan of figure 4.
pub const PLAN: Plan = Plan {
    id: "figure-4",
    title: "Throughput of atomic operations on one word",
    x: "threads",
    y: "throughput (Mops/s)",
    kind: Kind::Lines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world, false))),
    says,
};

/// The plan for the latency of an atomic operation, which section 5.4 discusses.
pub const LATENCY: Plan = Plan {
    id: "figure-4-latency",
    title: "Latency of a call of an atomic operation on one word",
    y: "latency (cycles)",
    kind: Kind::LogLines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world, true))),
    says: says_latency,
    ..PLAN
};

fn measure<W: World>(lab: &Lab, world: &W, timed: bool) -> Panel {
    over_threads(
        lab,
        world,
        &Operation::ALL,
        |o| o.name(),
        |&operation, threads, seed| {
            let outcome =
                atomics::run(world, operation, &Load { timed, ..load::<W>(lab, threads, 1, seed) });
            if timed { outcome.cycles } else { outcome.per_second / 1e6 }
        },
    )
}

fn says_latency(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let [alone, two] = [1, 2].map(|threads| panel.value("fai", threads));
        let (alone, two) = (number(alone?), number(two?));
        Some(format!(
            "an increment on {} takes {alone} cycles alone and {two} with a second thread",
            panel.machine
        ))
    };
    list(panels.iter().filter_map(machine))
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let all = panel.last();
        let (alone, two, crowd) =
            (panel.value("fai", 1)?, panel.value("fai", 2)?, panel.best(all)?);
        Some(format!(
            "{} does {} million increments a second with one thread and {} with two, and with \
             {all} threads {} million operations a second of the fastest kind ({})",
            panel.machine,
            number(alone),
            number(two),
            number(crowd.1),
            crowd.0
        ))
    };
    list(panels.iter().filter_map(machine))
}
