//! Figure 3: threads acquire one ticket lock and release it at once, with three implementations of
//! the lock.

use super::plan::Plan;
use super::sentence::{list, number};
use super::ssync::{load, over_threads};
use crate::figure::{Kind, Panel};
use crate::lab::Lab;
use crate::on;
use crate::stress::Pause;
use crate::stress::contenders::{Contender, EAGER};
use crate::world::World;

/// The plan of figure 3.
pub const PLAN: Plan = Plan {
    id: "figure-3",
    title: "Latency of acquire and release with three ticket locks",
    x: "threads",
    y: "latency (cycles)",
    kind: Kind::LogLines,
    measure: |lab, target| Some(on!(target, world => measure(lab, world))),
    says,
};

/// Simulated seconds of measurement. This is long, since with 48 threads and without back-off each
/// acquisition takes nearly half a millisecond.
const WINDOW: f64 = 8e-3;

fn measure<W: World>(lab: &Lab, world: &W) -> Panel {
    let contenders = Contender::<W>::named(&[EAGER, "ticket", "ticket_prefetch"]);
    over_threads(
        lab,
        world,
        &contenders,
        |c| c.name,
        |contender, threads, seed| {
            let mut load = load::<W>(lab, threads, 1, seed);
            (load.warm_up, load.measured) = lab.window::<W>(WINDOW);
            (load.data, load.pause, load.timed) = (false, Pause::None, true);
            (contender.throughput)(world, &load).cycles
        },
    )
}

fn says(panels: &[Panel]) -> String {
    let machine = |panel: &Panel| {
        let threads = panel.last();
        let at = |name| panel.value(name, threads);
        let (eager, ticket, prefetch) = (at(EAGER)?, at("ticket")?, at("ticket_prefetch")?);
        Some(format!(
            "with {threads} threads on {} an acquisition and its release take {} cycles without \
             back-off, {} times as long as with back-off, and {} times as long as with back-off \
             and a prefetch for writing",
            panel.machine,
            number(eager),
            number(eager / ticket),
            number(eager / prefetch)
        ))
    };
    list(panels.iter().filter_map(machine))
}
